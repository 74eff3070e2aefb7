// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bad_file.hpp"
#include "mesh.hpp"

namespace em3d {

/// Collects what a reader finds and checks what is the same in every format. Faces may come before
/// the vertices that they name, so they are checked at the end: each keeps its place in the file.
class mesh_builder {
public:
    /// @param first_index number that the format gives to the first vertex, for messages.
    mesh_builder(std::string file, file_place::unit counted_in, std::uint32_t first_index);

    /// Throws `bad_file` unless all coordinates are finite.
    void add_vertex(const point& position, std::uint64_t place);
    /// Throws `bad_file` unless there are at least three corners, all different.
    /// @param corners numbers of vertices, from 0.
    void add_face(std::span<const std::uint32_t> corners, std::uint64_t place);

    std::size_t vertex_count() const { return collected_.vertices.size(); }

    /// Throws `bad_file` if there is no face, or one names a vertex that does not exist, or one has
    /// no area. @param end last place of the file.
    mesh finish(std::uint64_t end) &&;

private:
    bool has_duplicate(std::span<const std::uint32_t> corners);
    std::string face_name(std::size_t face) const;
    void check_indices(std::size_t face) const;
    void check_area(std::size_t face) const;
    [[noreturn]] void reject_at(std::uint64_t place, const std::string& what) const;

    std::string file_;
    file_place::unit counted_in_;
    std::uint32_t first_index_;
    mesh collected_;
    std::vector<std::uint64_t> face_places_;
    std::vector<std::uint32_t> sorted_;  ///< corners of the face at hand
};

}  // namespace em3d
