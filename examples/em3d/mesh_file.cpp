// SPDX-License-Identifier: Apache-2.0
#include "mesh_file.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <system_error>

#include "bad_file.hpp"
#include "ply_header.hpp"

namespace em3d {

namespace {

std::string lower_case_extension(const std::string& file) {
    std::string extension = std::filesystem::path(file).extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return extension;
}

std::string read_bytes(const std::filesystem::path& path) {
    const std::string name = path.string();
    std::error_code trouble;
    const std::filesystem::file_status status = std::filesystem::status(path, trouble);
    if (status.type() == std::filesystem::file_type::not_found) {
        throw bad_file(name + ": no such file");
    }
    if (trouble) throw bad_file(name + ": " + trouble.message());
    if (std::filesystem::is_directory(status)) {
        throw bad_file(name + ": is a directory, not a mesh file");
    }
    if (!std::filesystem::is_regular_file(status)) {
        throw bad_file(name + ": is not a regular file");
    }
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw bad_file(name + ": cannot be opened for reading");
    std::string bytes(std::istreambuf_iterator<char>(stream), {});
    if (stream.bad()) throw bad_file(name + ": cannot be read");
    return bytes;
}

}  // namespace

mesh parse_mesh(std::string_view bytes, const std::string& file) {
    if (bytes.empty()) reject(file, {}, "the file is empty");
    const std::string extension = lower_case_extension(file);
    if (starts_like_ply(bytes) || extension == ".ply") return parse_ply(bytes, file);
    if (extension == ".obj") return parse_obj(bytes, file);
    reject(file, {},
           "not a mesh that this program reads: a PLY file begins with a line 'ply', "
           "an OBJ file's name ends with .obj");
}

mesh read_mesh(const std::filesystem::path& path) { return parse_mesh(read_bytes(path), path); }

}  // namespace em3d
