// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "mesh.hpp"

namespace em3d {

/// The mesh in the bytes of a PLY file: ascii or binary of either byte order; properties in any
/// order; elements other than `vertex` and `face` are passed over. Memory grows with the bytes that
/// are there, never with the counts that a header claims. Throws `bad_file`.
/// @param file name for messages.
mesh parse_ply(std::string_view bytes, const std::string& file);

/// The mesh in the text of a Wavefront OBJ file: statements `v` and `f` (all forms of `f`, indices
/// from the front or, negative, from the back); all other OBJ statements are passed over.
/// Throws `bad_file`.
mesh parse_obj(std::string_view text, const std::string& file);

/// PLY if the bytes begin so, else OBJ if the file's name says so. Throws `bad_file`.
mesh parse_mesh(std::string_view bytes, const std::string& file);

/// Reads a mesh file. Throws `bad_file`, also for what is missing, unreadable or no regular file.
mesh read_mesh(const std::filesystem::path& path);

}  // namespace em3d
