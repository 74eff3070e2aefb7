// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace em3d {

/// A place in space, or the vector between two places.
struct point {
    double x = 0;
    double y = 0;
    double z = 0;

    bool operator==(const point&) const = default;
};

point operator+(const point& a, const point& b);
point operator-(const point& a, const point& b);
point operator*(double factor, const point& a);
point cross(const point& a, const point& b);
double length(const point& a);

/// The surface of an object: polygons over shared vertices. Corners of all faces lie one after
/// another; face `f` owns those from `first_corner[f]` up to `first_corner[f + 1]`.
struct mesh {
    std::vector<point> vertices;
    std::vector<std::uint32_t> corners;
    std::vector<std::size_t> first_corner = {0};

    std::size_t face_count() const { return first_corner.size() - 1; }
    std::span<const std::uint32_t> face(std::size_t number) const {
        return std::span(corners).subspan(first_corner[number],
                                          first_corner[number + 1] - first_corner[number]);
    }
    bool operator==(const mesh&) const = default;
};

/// Area of a polygon, also of one that is not quite flat: half the length of the sum of the cross
/// products of a fan around its first corner.
double face_area(const mesh& object, std::size_t face);

/// Mean of the corners.
point face_centre(const mesh& object, std::size_t face);

/// Sum of the lengths of the sides.
double face_perimeter(const mesh& object, std::size_t face);

}  // namespace em3d
