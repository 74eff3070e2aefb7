// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "mesh.hpp"

namespace em3d {

/// Ways to write one mesh as a PLY file.
struct ply_style {
    enum class layout { ascii, little_endian, big_endian };

    layout format = layout::ascii;
    bool is_single = false;        ///< coordinates as float; exact only if they are floats
    bool is_wide = false;          ///< list lengths and indices as uint rather than uchar and int
    bool has_extras = false;       ///< more properties and elements, which mean nothing to a mesh
    bool are_faces_first = false;  ///< faces before the vertices that they name
};

std::string write_ply(const mesh& object, const ply_style& style);

/// Ways to write one mesh as an OBJ file.
struct obj_style {
    bool is_backwards = false;  ///< negative indices
    bool has_extras = false;    ///< texture and normal indices, groups, comments
};

std::string write_obj(const mesh& object, const obj_style& style);

}  // namespace em3d
