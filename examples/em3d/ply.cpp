// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "mesh_builder.hpp"
#include "mesh_file.hpp"
#include "ply_header.hpp"
#include "ply_values.hpp"

namespace em3d {

namespace {

void skip_property(ply_values& values, const ply_property& property) {
    const std::uint64_t count = property.count_type ? values.next_count(*property.count_type) : 1;
    for (std::uint64_t i = 0; i < count; ++i) values.next(property.type);
}

void read_vertices(ply_values& values, const ply_element& element, mesh_builder& builder) {
    const std::array wanted = {find_property(element, "x"), find_property(element, "y"),
                               find_property(element, "z")};
    for (std::uint64_t row = 0; row < element.count; ++row) {
        values.begin_row(element, row);
        point position;
        for (std::size_t i = 0; i < element.properties.size(); ++i) {
            const ply_property& property = element.properties[i];
            if (i == wanted[0]) {
                position.x = values.next(property.type);
            } else if (i == wanted[1]) {
                position.y = values.next(property.type);
            } else if (i == wanted[2]) {
                position.z = values.next(property.type);
            } else {
                skip_property(values, property);
            }
        }
        values.end_row();
        builder.add_vertex(position, values.place());
    }
}

void read_faces(ply_values& values, const ply_element& element, mesh_builder& builder) {
    const auto wanted = find_vertex_list(element);
    std::vector<std::uint32_t> corners;
    for (std::uint64_t row = 0; row < element.count; ++row) {
        values.begin_row(element, row);
        for (std::size_t i = 0; i < element.properties.size(); ++i) {
            const ply_property& property = element.properties[i];
            if (i != wanted) {
                skip_property(values, property);
                continue;
            }
            corners.clear();
            const std::uint64_t count = values.next_count(*property.count_type);
            for (std::uint64_t c = 0; c < count; ++c) {
                corners.push_back(values.next_index(property.type));
            }
        }
        values.end_row();
        builder.add_face(corners, values.place());
    }
}

}  // namespace

mesh parse_ply(std::string_view bytes, const std::string& file) {
    const ply_header header = parse_ply_header(bytes, file);
    const std::unique_ptr<ply_values> values = open_ply_values(header, bytes, file);
    mesh_builder builder(file, values->counted_in(), 0);
    for (const ply_element& element : header.elements) {
        if (element.name == "vertex") {
            read_vertices(*values, element, builder);
        } else if (element.name == "face") {
            read_faces(*values, element, builder);
        } else {
            values->skip_rows(element);
        }
    }
    values->finish();
    return std::move(builder).finish(values->place());
}

}  // namespace em3d
