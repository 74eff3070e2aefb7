// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace em3d {

/// Types of the numbers in a PLY file.
enum class ply_type : std::uint8_t {
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    float32,
    float64,
};

std::size_t byte_size(ply_type type);
bool is_integer(ply_type type);

/// One value of an element, or a list of values behind its length.
struct ply_property {
    std::string name;
    ply_type type = ply_type::float32;
    std::optional<ply_type> count_type;  ///< set for lists
};

/// A kind of row, of which `count` follow one another.
struct ply_element {
    std::string name;
    std::uint64_t count = 0;
    std::uint64_t declared_on_line = 0;
    std::vector<ply_property> properties;
};

enum class ply_format : std::uint8_t { ascii, little_endian, big_endian };

/// What the header of a PLY file declares, in order (G. Turk, "The PLY Polygon File Format", 1994).
struct ply_header {
    ply_format format = ply_format::ascii;
    std::vector<ply_element> elements;
    std::uint64_t lines = 0;  ///< lines of the header
    std::size_t bytes = 0;    ///< bytes of the header: the data begins behind them
};

/// Reads the header and checks that its elements can be read and that there are vertices with
/// x, y, z and faces with a list of vertices. Throws `bad_file`.
ply_header parse_ply_header(std::string_view bytes, const std::string& file);

/// True if the bytes begin as a PLY file does.
bool starts_like_ply(std::string_view bytes);

/// Position of the named property; nothing if the element lacks it.
std::optional<std::size_t> find_property(const ply_element& element, std::string_view name);

/// Position of the list that names a face's vertices: `vertex_indices` or `vertex_index`.
std::optional<std::size_t> find_vertex_list(const ply_element& face);

}  // namespace em3d
