// SPDX-License-Identifier: Apache-2.0
#include "mesh.hpp"

#include <cmath>

namespace em3d {

point operator+(const point& a, const point& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
point operator-(const point& a, const point& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
point operator*(double factor, const point& a) {
    return {factor * a.x, factor * a.y, factor * a.z};
}

point cross(const point& a, const point& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

double length(const point& a) { return std::hypot(a.x, a.y, a.z); }

double face_area(const mesh& object, std::size_t face) {
    const auto corners = object.face(face);
    const point& origin = object.vertices[corners[0]];
    point sum;
    for (std::size_t i = 1; i + 1 < corners.size(); ++i) {
        sum = sum +
              cross(object.vertices[corners[i]] - origin, object.vertices[corners[i + 1]] - origin);
    }
    return 0.5 * length(sum);
}

point face_centre(const mesh& object, std::size_t face) {
    const auto corners = object.face(face);
    point sum;
    for (const std::uint32_t corner : corners) sum = sum + object.vertices[corner];
    return (1.0 / static_cast<double>(corners.size())) * sum;
}

double face_perimeter(const mesh& object, std::size_t face) {
    const auto corners = object.face(face);
    double sum = 0;
    for (std::size_t i = 0; i < corners.size(); ++i) {
        const std::uint32_t next = corners[(i + 1) % corners.size()];
        sum += length(object.vertices[next] - object.vertices[corners[i]]);
    }
    return sum;
}

}  // namespace em3d
