// SPDX-License-Identifier: Apache-2.0
#include "mesh_writer.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace em3d {

namespace {

std::string exact(double number) {
    char text[64];
    std::snprintf(text, sizeof text, "%.17g", number);
    return text;
}

/// Adds values in the format of the style.
class value_writer {
public:
    value_writer(std::string& out, const ply_style& style) : out_(out), style_(style) {}

    template <class Number>
    void add(Number number) {
        if (style_.format == ply_style::layout::ascii) {
            out_ += exact(static_cast<double>(number)) + " ";
            return;
        }
        char bytes[sizeof(Number)];
        std::memcpy(bytes, &number, sizeof number);
        const bool is_big = style_.format == ply_style::layout::big_endian;
        if (is_big == (std::endian::native == std::endian::little)) {
            std::reverse(std::begin(bytes), std::end(bytes));
        }
        out_.append(bytes, sizeof bytes);
    }

    void add_coordinate(double number) {
        if (style_.is_single) {
            add(static_cast<float>(number));
        } else {
            add(number);
        }
    }

    void end_row() {
        if (style_.format == ply_style::layout::ascii) out_ += "\n";
    }

private:
    std::string& out_;
    const ply_style& style_;
};

void write_vertices(const mesh& object, const ply_style& style, value_writer& values) {
    for (const point& vertex : object.vertices) {
        if (style.has_extras) values.add(std::int8_t{-3});
        values.add_coordinate(vertex.z);
        values.add_coordinate(vertex.x);
        if (style.has_extras) {
            values.add(std::uint8_t{2});
            values.add(std::int16_t{-300});
            values.add(std::int16_t{300});
        }
        values.add_coordinate(vertex.y);
        values.end_row();
    }
}

void write_faces(const mesh& object, const ply_style& style, value_writer& values) {
    for (std::size_t f = 0; f < object.face_count(); ++f) {
        if (style.has_extras) values.add(0.5F);
        const auto face = object.face(f);
        if (style.is_wide) {
            values.add(static_cast<std::uint32_t>(face.size()));
        } else {
            values.add(static_cast<std::uint8_t>(face.size()));
        }
        for (const std::uint32_t corner : face) {
            if (style.is_wide) {
                values.add(corner);
            } else {
                values.add(static_cast<std::int32_t>(corner));
            }
        }
        values.end_row();
    }
}

std::string declare_vertices(const mesh& object, const ply_style& style) {
    const std::string type = style.is_single ? "float" : "double";
    const std::string quality = style.has_extras ? "property char quality\n" : "";
    const std::string tags = style.has_extras ? "property list uchar short tags\n" : "";
    return "element vertex " + std::to_string(object.vertices.size()) + "\n" + quality +
           "property " + type + " z\nproperty " + type + " x\n" + tags + "property " + type +
           " y\n";
}

std::string declare_faces(const mesh& object, const ply_style& style) {
    const std::string weight = style.has_extras ? "property float weight\n" : "";
    const std::string list = style.is_wide ? "uint uint vertex_index" : "uchar int vertex_indices";
    return "element face " + std::to_string(object.face_count()) + "\n" + weight +
           "property list " + list + "\n";
}

}  // namespace

std::string write_ply(const mesh& object, const ply_style& style) {
    const std::string formats[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    std::string text = "ply\nformat " + formats[static_cast<int>(style.format)] + " 1.0\n";
    if (style.has_extras) {
        text += "comment more than a mesh\nelement material 2\nproperty list int double numbers\n";
    }
    const std::string vertices = declare_vertices(object, style);
    const std::string faces = declare_faces(object, style);
    text += style.are_faces_first ? faces + vertices : vertices + faces;
    text += "end_header\n";
    value_writer values(text, style);
    if (style.has_extras) {
        values.add(std::int32_t{0});
        values.end_row();
        values.add(std::int32_t{1});
        values.add(2.5);
        values.end_row();
    }
    if (style.are_faces_first) write_faces(object, style, values);
    write_vertices(object, style, values);
    if (!style.are_faces_first) write_faces(object, style, values);
    return text;
}

std::string write_obj(const mesh& object, const obj_style& style) {
    std::string text = style.has_extras ? "# more than a mesh\nmtllib a.mtl\ng all\n" : "";
    for (const point& vertex : object.vertices) {
        text += "v " + exact(vertex.x) + " " + exact(vertex.y) + " " + exact(vertex.z) + "\n";
    }
    for (std::size_t f = 0; f < object.face_count(); ++f) {
        text += "f";
        for (const std::uint32_t corner : object.face(f)) {
            const auto forwards = static_cast<std::int64_t>(corner) + 1;
            const auto count = static_cast<std::int64_t>(object.vertices.size());
            const std::int64_t index = style.is_backwards ? forwards - count - 1 : forwards;
            text.append(" ").append(std::to_string(index));
            if (style.has_extras) text += corner % 2 == 0 ? "/1/2" : "//3";
        }
        text += "\n";
    }
    return text;
}

}  // namespace em3d
