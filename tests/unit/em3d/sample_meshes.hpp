// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "mesh.hpp"

namespace em3d {

/// A cube of edge 2: 8 vertices, 12 edges, 6 faces, all walked anticlockwise seen from outside.
inline mesh cube() {
    return {{{-1, -1, -1},
             {1, -1, -1},
             {1, 1, -1},
             {-1, 1, -1},
             {-1, -1, 1},
             {1, -1, 1},
             {1, 1, 1},
             {-1, 1, 1}},
            {3, 2, 1, 0, 4, 5, 6, 7, 0, 1, 5, 4, 1, 2, 6, 5, 2, 3, 7, 6, 3, 0, 4, 7},
            {0, 4, 8, 12, 16, 20, 24}};
}

/// A flat sheet of width x height unit squares, each cut into two triangles.
inline mesh sheet(std::uint32_t width, std::uint32_t height) {
    mesh made;
    for (std::uint32_t y = 0; y <= height; ++y) {
        for (std::uint32_t x = 0; x <= width; ++x) {
            made.vertices.push_back({static_cast<double>(x), static_cast<double>(y), 0});
        }
    }
    for (std::uint32_t i = 0; i < width * height; ++i) {
        const std::uint32_t corner = i / width * (width + 1) + i % width;
        const std::uint32_t above = corner + width + 1;
        for (const std::uint32_t vertex :
             {corner, corner + 1, above + 1, corner, above + 1, above}) {
            made.corners.push_back(vertex);
        }
        made.first_corner.push_back(made.corners.size() - 3);
        made.first_corner.push_back(made.corners.size());
    }
    return made;
}

/// A mesh that the Python package pyvista brings along, if this checkout's environment has it.
inline std::optional<std::filesystem::path> pyvista_mesh(const std::string& name) {
    namespace fs = std::filesystem;
    const fs::path root =
        fs::path(__FILE__).parent_path().parent_path().parent_path().parent_path();
    std::error_code trouble;
    for (const auto& python : fs::directory_iterator(root / ".venv" / "lib", trouble)) {
        const fs::path file = python.path() / "site-packages" / "pyvista" / "examples" / name;
        if (fs::exists(file, trouble)) return file;
    }
    return std::nullopt;
}

}  // namespace em3d
