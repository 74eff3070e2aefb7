// SPDX-License-Identifier: Apache-2.0
#include "field_file.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "bad_file.hpp"
#include "json_text.hpp"

namespace em3d {

namespace {

constexpr const char* unwritable = ": cannot be opened for writing";

std::string shortest(double number) {
    if (!std::isfinite(number)) return "null";
    std::array<char, 32> text;
    const auto [end, trouble] = std::to_chars(text.data(), text.data() + text.size(), number);
    static_cast<void>(trouble);  // 24 characters are enough for any double
    return {text.data(), end};
}

/// `[a, b, …]` of what `element(i)` says.
template <class Element>
std::string list(std::size_t count, const Element& element) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) text += ", ";
        text += element(i);
    }
    return text + "]";
}

}  // namespace

std::string as_field_json(const mesh& object, const mesh_graph& graph, const field_values& values,
                          const std::string& mesh_name, std::uint32_t iterations) {
    const auto vertex = [&](std::size_t i) {
        const point& at = object.vertices[i];
        const std::array<double, 3> all = {at.x, at.y, at.z};
        return list(all.size(), [&](std::size_t c) { return shortest(all[c]); });
    };
    const auto face = [&](std::size_t i) {
        const auto corners = object.face(i);
        return list(corners.size(), [&](std::size_t c) { return std::to_string(corners[c]); });
    };
    const auto edge = [&](std::size_t i) {
        const auto [from, to] = graph.edge_ends(static_cast<std::uint32_t>(i));
        const std::array<std::uint32_t, 2> ends = {from, to};
        return list(ends.size(), [&](std::size_t e) { return std::to_string(ends[e]); });
    };
    std::string text = "{\"program\": \"em3d\",\n\"format\": 1,\n\"mesh\": ";
    text += json_string(mesh_name);
    text += ",\n\"iterations\": " + std::to_string(iterations);
    text += ",\n\"vertices\": " + list(object.vertices.size(), vertex);
    text += ",\n\"faces\": " + list(object.face_count(), face);
    text += ",\n\"magnetic\": " + list(values.magnetic.size(),
                                       [&](std::size_t i) { return shortest(values.magnetic[i]); });
    text += ",\n\"edges\": " + list(values.electric.size(), edge);
    text += ",\n\"electric\": " + list(values.electric.size(),
                                       [&](std::size_t i) { return shortest(values.electric[i]); });
    return text + "}\n";
}

void check_destination(const std::string& path, const std::string& mesh_name) {
    namespace fs = std::filesystem;
    std::error_code trouble;  // whatever it is, opening the file tells
    if (fs::equivalent(path, mesh_name, trouble)) {
        throw bad_file(path + ": is the mesh itself, which the field would replace");
    }
    // Whoever reads from a pipe would take a first opening for all that comes.
    const bool is_there = fs::exists(path, trouble);
    if (is_there && !fs::is_regular_file(path, trouble) && !fs::is_directory(path, trouble)) return;
    // A link that leads nowhere yet is there, and stays.
    const bool is_new = fs::symlink_status(path, trouble).type() == fs::file_type::not_found;
    if (!std::ofstream(path, std::ios::app)) throw bad_file(path + unwritable);
    if (is_new) fs::remove(path, trouble);
}

void write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    if (!file) throw bad_file(path + unwritable);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) throw bad_file(path + ": cannot be written to the end");
}

}  // namespace em3d
