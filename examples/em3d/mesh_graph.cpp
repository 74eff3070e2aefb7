// SPDX-License-Identifier: Apache-2.0
#include "mesh_graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <tuple>

namespace em3d {

namespace {

/// Share of the largest stable step that is used.
constexpr double safety = 0.9;

/// One side of one face, before sides of equal ends become one edge.
struct loose_side {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::uint32_t face = 0;
    std::size_t corner = 0;
    double sign = 0;
};

std::vector<loose_side> all_sides(const mesh& object) {
    std::vector<loose_side> sides;
    sides.reserve(object.corners.size());
    for (std::size_t face = 0; face < object.face_count(); ++face) {
        const auto corners = object.face(face);
        for (std::size_t i = 0; i < corners.size(); ++i) {
            const std::uint32_t here = corners[i];
            const std::uint32_t next = corners[(i + 1) % corners.size()];
            sides.push_back({std::min(here, next), std::max(here, next),
                             static_cast<std::uint32_t>(face), object.first_corner[face] + i,
                             here < next ? 1.0 : -1.0});
        }
    }
    std::sort(sides.begin(), sides.end(), [](const loose_side& a, const loose_side& b) {
        return std::tie(a.low, a.high, a.corner) < std::tie(b.low, b.high, b.corner);
    });
    return sides;
}

}  // namespace

mesh_graph::mesh_graph(const mesh& object, std::uint64_t seed)
    : field_graph(seed), face_first_(object.first_corner) {
    find_edges(object);
    measure(object);
    choose_step();
}

void mesh_graph::find_edges(const mesh& object) {
    sides_by_face_.resize(object.corners.size());
    for (const loose_side& found : all_sides(object)) {
        if (edges_.empty() || edges_.back().from != found.low || edges_.back().to != found.high) {
            edge_first_.push_back(sides_by_edge_.size());
            edges_.push_back({found.low, found.high, 0, 0});
        }
        const side made{static_cast<std::uint32_t>(edges_.size() - 1), found.face, found.sign};
        sides_by_edge_.push_back(made);
        sides_by_face_[found.corner] = made;
    }
    edge_first_.push_back(sides_by_edge_.size());
}

void mesh_graph::measure(const mesh& object) {
    for (edge& one : edges_) {
        const point& from = object.vertices[one.from];
        const point& to = object.vertices[one.to];
        one.length = length(to - from);
        edge_centres_.push_back(0.5 * (from + to));
    }
    for (std::size_t face = 0; face < object.face_count(); ++face) {
        face_areas_.push_back(face_area(object, face));
        face_centres_.push_back(face_centre(object, face));
        const std::size_t begin = face_first_[face];
        const std::size_t sides = face_first_[face + 1] - begin;
        const double share = 2 * face_areas_[face] / static_cast<double>(sides);
        for (std::size_t i = begin; i < begin + sides; ++i) {
            edges_[sides_by_face_[i].edge].area += share;
        }
    }
}

void mesh_graph::choose_step() {
    double largest = 0;
    for (std::size_t face = 0; face < face_areas_.size(); ++face) {
        double row = 0;
        for (std::size_t i = face_first_[face]; i < face_first_[face + 1]; ++i) {
            const std::uint32_t number = sides_by_face_[i].edge;
            const auto faces = static_cast<double>(edge_first_[number + 1] - edge_first_[number]);
            row += faces * edges_[number].length * (edges_[number].length / edges_[number].area);
        }
        largest = std::max(largest, row / face_areas_[face]);
    }
    step_ = safety * 2 / std::sqrt(largest);
}

std::uint32_t mesh_graph::node_count(field kind) const {
    return static_cast<std::uint32_t>(kind == field::electric ? edges_.size() : face_areas_.size());
}

void mesh_graph::dependencies(field kind, std::uint32_t node, std::vector<dependency>& out) const {
    out.clear();
    if (kind == field::electric) {
        const double factor = step_ * (edges_[node].length / edges_[node].area);
        for (std::size_t i = edge_first_[node]; i < edge_first_[node + 1]; ++i) {
            out.push_back({sides_by_edge_[i].face, sides_by_edge_[i].sign * factor});
        }
        return;
    }
    for (std::size_t i = face_first_[node]; i < face_first_[node + 1]; ++i) {
        const side& bound = sides_by_face_[i];
        const double factor = step_ * (edges_[bound.edge].length / face_areas_[node]);
        out.push_back({bound.edge, -bound.sign * factor});
    }
}

partition mesh_graph::divide(std::uint32_t ranks) const {
    return divide_by_bisection(edge_centres_, face_centres_, ranks);
}

}  // namespace em3d
