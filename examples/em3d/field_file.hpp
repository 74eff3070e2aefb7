// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "mesh.hpp"
#include "mesh_graph.hpp"
#include "sequential.hpp"

namespace em3d {

/// A mesh and the fields on it as JSON, for programs that draw:
///
///     {"program": "em3d", "format": 1, "mesh": "airplane.ply", "iterations": 100,
///      "vertices": [[x, y, z], …],         in the order of the mesh's file
///      "faces": [[v, v, v], …],            numbers of vertices, from 0; anticlockwise
///      "magnetic": [h, …],                 one for each face: positive towards the eye that sees
///                                          the face's corners run anticlockwise
///      "edges": [[v, v], …],               numbers of vertices, the smaller one first
///      "electric": [e, …]}                 one for each edge: positive from its first vertex to
///                                          its second
///
/// Each key begins a line, in this order. Numbers are the shortest that give the same double again.
/// A value that is not finite, which JSON has no number for, is null.
std::string as_field_json(const mesh& object, const mesh_graph& graph, const field_values& values,
                          const std::string& mesh_name, std::uint32_t iterations);

/// Throws `bad_file` if the fields of a mesh cannot be written to a file: it is the mesh's own, or
/// cannot be opened. What is there stays as it is.
void check_destination(const std::string& path, const std::string& mesh_name);

/// Writes a text. Throws `bad_file` if that is not possible.
void write_file(const std::string& path, const std::string& text);

}  // namespace em3d
