// SPDX-License-Identifier: Apache-2.0
#include "mesh_builder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace em3d {

namespace {

/// Below this share of the squared perimeter the area of a face is rounding noise.
constexpr double least_area_share = 1e-14;

/// Edges and faces are numbered with 32 bits.
constexpr std::size_t most_corners = std::size_t{1} << 31;

}  // namespace

mesh_builder::mesh_builder(std::string file, file_place::unit counted_in, std::uint32_t first_index)
    : file_(std::move(file)), counted_in_(counted_in), first_index_(first_index) {}

void mesh_builder::reject_at(std::uint64_t place, const std::string& what) const {
    reject(file_, {counted_in_, place}, what);
}

void mesh_builder::add_vertex(const point& position, std::uint64_t place) {
    if (!std::isfinite(position.x) || !std::isfinite(position.y) || !std::isfinite(position.z)) {
        reject_at(place, "vertex " + std::to_string(vertex_count() + first_index_) +
                             " has a coordinate that is not a finite number");
    }
    collected_.vertices.push_back(position);
}

bool mesh_builder::has_duplicate(std::span<const std::uint32_t> corners) {
    sorted_.assign(corners.begin(), corners.end());
    std::sort(sorted_.begin(), sorted_.end());
    return std::adjacent_find(sorted_.begin(), sorted_.end()) != sorted_.end();
}

std::string mesh_builder::face_name(std::size_t face) const {
    return "face " + std::to_string(face + first_index_);
}

void mesh_builder::add_face(std::span<const std::uint32_t> corners, std::uint64_t place) {
    const std::size_t face = collected_.face_count();
    if (corners.size() < 3) {
        reject_at(place, face_name(face) + " has " + std::to_string(corners.size()) +
                             " corners; a face needs at least 3");
    }
    if (has_duplicate(corners)) reject_at(place, face_name(face) + " names one vertex twice");
    if (collected_.corners.size() + corners.size() > most_corners) {
        reject_at(place, "the faces have more than " + std::to_string(most_corners) +
                             " corners, more than this program can number");
    }
    collected_.corners.insert(collected_.corners.end(), corners.begin(), corners.end());
    collected_.first_corner.push_back(collected_.corners.size());
    face_places_.push_back(place);
}

void mesh_builder::check_indices(std::size_t face) const {
    for (const std::uint32_t corner : collected_.face(face)) {
        if (corner < vertex_count()) continue;
        const std::string named = face_name(face) + " names vertex " +
                                  std::to_string(std::uint64_t{corner} + first_index_);
        if (vertex_count() == 0) reject_at(face_places_[face], named + ", but there are none");
        reject_at(face_places_[face], named + ", but the vertices are " +
                                          std::to_string(first_index_) + " to " +
                                          std::to_string(vertex_count() - 1 + first_index_));
    }
}

void mesh_builder::check_area(std::size_t face) const {
    const double area = face_area(collected_, face);
    const double perimeter = face_perimeter(collected_, face);
    if (!std::isfinite(area) || !std::isfinite(perimeter * perimeter)) {
        reject_at(face_places_[face], face_name(face) + " is too large: its area overflows");
    }
    if (!std::isnormal(area) || area <= least_area_share * perimeter * perimeter) {
        reject_at(face_places_[face],
                  face_name(face) + " has no area: its corners lie on one line");
    }
}

mesh mesh_builder::finish(std::uint64_t end) && {
    if (collected_.face_count() == 0) reject_at(end, "the mesh has no faces");
    for (std::size_t face = 0; face < collected_.face_count(); ++face) {
        check_indices(face);
        check_area(face);
    }
    return std::move(collected_);
}

}  // namespace em3d
