// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "bad_file.hpp"
#include "mesh_file.hpp"

namespace em3d {
namespace {

/// A folder that goes away with the test.
class em3d_mesh_file : public testing::Test {
protected:
    em3d_mesh_file() {
        std::string pattern = (std::filesystem::temp_directory_path() / "em3d-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) std::abort();
        folder_ = pattern;
    }
    ~em3d_mesh_file() override { std::filesystem::remove_all(folder_); }

    std::string write(const std::string& name, const std::string& bytes) const {
        const std::filesystem::path path = folder_ / name;
        std::ofstream(path, std::ios::binary) << bytes;
        return path.string();
    }
    static std::string complaint(const std::string& path) {
        try {
            read_mesh(path);
        } catch (const bad_file& wrong) {
            const std::string text = wrong.what();
            return text.starts_with(path) ? text.substr(path.size()) : text;
        }
        return "accepted";
    }

    std::filesystem::path folder_;
};

TEST_F(em3d_mesh_file, reads_by_content_and_by_name) {
    EXPECT_EQ(complaint(write("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")), "accepted");
    EXPECT_EQ(complaint(write("noname",
                              "ply\nformat ascii 1.0\nelement vertex 3\n"
                              "property char x\nproperty char y\nproperty char z\n"
                              "element face 1\nproperty list char char vertex_index\n"
                              "end_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")),
              "accepted");
}

TEST_F(em3d_mesh_file, says_what_is_wrong_with_the_file) {
    EXPECT_EQ(complaint((folder_ / "absent.ply").string()), ": no such file");
    EXPECT_EQ(complaint(folder_.string()), ": is a directory, not a mesh file");
    EXPECT_EQ(complaint("/dev/null"), ": is not a regular file");
    EXPECT_EQ(complaint(write("empty.ply", "")), ":1: the file is empty");
    EXPECT_EQ(complaint(write("a.txt", "v 0 0 0\n")),
              ":1: not a mesh that this program reads: a PLY file begins with a line 'ply', an OBJ "
              "file's name ends with .obj");
}

}  // namespace
}  // namespace em3d
