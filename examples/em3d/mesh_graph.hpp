// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "field_graph.hpp"
#include "mesh.hpp"

namespace em3d {

/// Electric field along the edges of a surface, magnetic field across its faces. The formulas and
/// the step are derived in field_graph.md beside this file.
class mesh_graph : public field_graph {
public:
    mesh_graph(const mesh& object, std::uint64_t seed);

    std::uint32_t node_count(field kind) const override;
    void dependencies(field kind, std::uint32_t node, std::vector<dependency>& out) const override;
    double keep() const override { return 1; }
    partition divide(std::uint32_t ranks) const override;

    /// Time step, below the limit of stability (light speed 1, lengths as in the file).
    double step() const { return step_; }
    /// Vertices of an edge, the smaller number first: it points from the first to the second.
    std::pair<std::uint32_t, std::uint32_t> edge_ends(std::uint32_t node) const {
        return {edges_[node].from, edges_[node].to};
    }
    double edge_length(std::uint32_t node) const { return edges_[node].length; }
    /// Area that belongs to an edge: edge length times length of the dual edge.
    double edge_area(std::uint32_t node) const { return edges_[node].area; }
    double area_of_face(std::uint32_t face) const { return face_areas_[face]; }

private:
    struct edge {
        std::uint32_t from = 0;  ///< vertex of the smaller number; the edge points away from it
        std::uint32_t to = 0;
        double length = 0;
        double area = 0;
    };
    /// That an edge bounds a face; `sign` is +1 if the face is walked along the edge's direction.
    struct side {
        std::uint32_t edge = 0;
        std::uint32_t face = 0;
        double sign = 0;
    };

    void find_edges(const mesh& object);
    void measure(const mesh& object);
    void choose_step();

    std::vector<edge> edges_;
    std::vector<double> face_areas_;
    std::vector<std::size_t> face_first_;  ///< first corner of each face, as in the mesh
    std::vector<side> sides_by_face_;      ///< in the order of the corners
    std::vector<side> sides_by_edge_;      ///< edge by edge, faces in ascending order
    std::vector<std::size_t> edge_first_;
    std::vector<point> edge_centres_;
    std::vector<point> face_centres_;
    double step_ = 0;
};

}  // namespace em3d
