// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "bad_file.hpp"
#include "mesh_file.hpp"

namespace em3d {
namespace {

const std::string ascii_triangle =
    "ply\n"
    "format ascii 1.0\n"
    "comment a triangle\n"
    "element vertex 3\n"
    "property float x\n"
    "property float y\n"
    "property float z\n"
    "element face 1\n"
    "property list uchar int vertex_indices\n"
    "end_header\n"
    "0 0 0\n"
    "1 0 0\n"
    "0 1.5 0\n"
    "3 0 1 2\n";

const mesh triangle{{{0, 0, 0}, {1, 0, 0}, {0, 1.5, 0}}, {0, 1, 2}, {0, 3}};

std::string replaced(std::string text, const std::string& old, const std::string& now) {
    const std::size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return text.replace(at, old.size(), now);
}

/// What the reader says about the file `a.ply` with these bytes.
std::string complaint(const std::string& bytes) {
    try {
        parse_mesh(bytes, "a.ply");
    } catch (const bad_file& wrong) {
        return wrong.what();
    }
    return "accepted";
}

TEST(em3d_ply, reads_ascii) { EXPECT_EQ(parse_mesh(ascii_triangle, "a.ply"), triangle); }

TEST(em3d_ply, reads_lines_that_end_with_carriage_return) {
    std::string text;
    for (const char character : ascii_triangle) {
        if (character == '\n') text += '\r';
        text += character;
    }
    EXPECT_EQ(parse_mesh(text, "a.ply"), triangle);
}

TEST(em3d_ply, reads_without_last_line_end_and_with_empty_lines) {
    const std::string cut = ascii_triangle.substr(0, ascii_triangle.size() - 1);
    EXPECT_EQ(parse_mesh(cut, "a.ply"), triangle);
    EXPECT_EQ(parse_mesh(replaced(ascii_triangle, "1 0 0\n", "\n 1 0 0 \n\n"), "a.ply"), triangle);
}

TEST(em3d_ply, reads_properties_in_any_order_and_passes_over_the_rest) {
    const std::string text =
        "ply\n"
        "format ascii 1.0\n"
        "element camera 2\n"
        "property float focus\n"
        "element face 1\n"
        "property uchar red\n"
        "property list uchar float weights\n"
        "property list uint uint vertex_index\n"
        "element vertex 3\n"
        "property double z\n"
        "property list uchar int tags\n"
        "property double x\n"
        "property short quality\n"
        "property double y\n"
        "element edge 1\n"
        "property int vertex1\n"
        "end_header\n"
        "1.5\n"
        "2.5\n"
        "255 2 0.5 0.25 3 0 1 2\n"
        "0 0 0 7 0\n"
        "0 2 8 9 1 7 0\n"
        "0 0 0 7 1.5\n"
        "1\n";
    EXPECT_EQ(parse_mesh(text, "a.ply"), triangle);
}

/// The same little file in binary: a skipped element with a list, coordinates of three types.
std::string binary_triangle(const std::string& format, bool is_big) {
    std::string text = "ply\nformat " + format +
                       " 1.0\n"
                       "element note 1\nproperty list short ushort letters\n"
                       "element vertex 3\n"
                       "property short x\nproperty float y\nproperty double z\n"
                       "element face 1\nproperty list uint ushort vertex_indices\nend_header\n";
    const auto add = [&](std::string big) {
        text += is_big ? big : std::string(big.rbegin(), big.rend());
    };
    const std::string zero8(8, '\0');
    add({"\x00\x02", 2});
    add({"\x00\x41", 2});
    add({"\x00\x42", 2});
    add({"\x00\x00", 2});
    add({"\x00\x00\x00\x00", 4});
    add(zero8);
    add({"\x00\x01", 2});
    add({"\x00\x00\x00\x00", 4});
    add(zero8);
    add({"\x00\x00", 2});
    add({"\x3f\xc0\x00\x00", 4});  // 1.5
    add(zero8);
    add({"\x00\x00\x00\x03", 4});
    add({"\x00\x00", 2});
    add({"\x00\x01", 2});
    add({"\x00\x02", 2});
    return text;
}

TEST(em3d_ply, reads_binary_of_both_byte_orders) {
    EXPECT_EQ(parse_mesh(binary_triangle("binary_little_endian", false), "a.ply"), triangle);
    EXPECT_EQ(parse_mesh(binary_triangle("binary_big_endian", true), "a.ply"), triangle);
}

TEST(em3d_ply, names_the_byte_where_binary_data_ends) {
    const std::string whole = binary_triangle("binary_big_endian", true);
    const std::size_t data = whole.find("end_header\n") + 11;
    EXPECT_EQ(complaint(whole.substr(0, data)),
              "a.ply: byte " + std::to_string(data) + ": the file ends before 'note' 0 of 1");
    EXPECT_EQ(complaint(whole.substr(0, data + 5)),
              "a.ply: byte " + std::to_string(data) + ": the file ends within 'note' 0 of 1");
    EXPECT_EQ(complaint(whole.substr(0, whole.size() - 1)),
              "a.ply: byte " + std::to_string(whole.size() - 10) +
                  ": the file ends within 'face' 0 of 1");
    EXPECT_EQ(complaint(whole + "zz"), "a.ply: byte " + std::to_string(whole.size()) +
                                           ": the file goes on for 2 bytes after all that its "
                                           "header declares");
}

TEST(em3d_ply, every_cut_binary_file_is_rejected) {
    const std::string whole = binary_triangle("binary_little_endian", false);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_NE(complaint(whole.substr(0, size)), "accepted") << size;
    }
}

TEST(em3d_ply, every_ascii_file_that_lacks_lines_is_rejected) {
    for (std::size_t size = 0; size + 1 < ascii_triangle.size(); ++size) {
        if (ascii_triangle[size] != '\n') continue;
        EXPECT_NE(complaint(ascii_triangle.substr(0, size + 1)), "accepted") << size;
    }
}

TEST(em3d_ply, says_where_ascii_data_ends) {
    EXPECT_EQ(complaint(replaced(ascii_triangle, "0 1.5 0\n3 0 1 2\n", "")),
              "a.ply:12: the file ends before 'vertex' 2 of 3");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "0 1.5 0\n", "0 1.5\n")),
              "a.ply:13: the line ends within 'vertex' 2 of 3");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "3 0 1 2", "4 0 1 2")),
              "a.ply:14: the line ends within 'face' 0 of 1");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "3 0 1 2", "3 0 1 2 0")),
              "a.ply:14: the line goes on with '0' after 'face' 0 of 1");
    EXPECT_EQ(complaint(ascii_triangle + "3 0 1 2\n"),
              "a.ply:15: the file goes on after all that its header declares");
}

TEST(em3d_ply, rejects_bad_faces) {
    EXPECT_EQ(complaint(replaced(ascii_triangle, "3 0 1 2", "3 0 1 3")),
              "a.ply:14: face 0 names vertex 3, but the vertices are 0 to 2");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "3 0 1 2", "3 0 1 -1")),
              "a.ply:14: -1 is not the number of a vertex");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "3 0 1 2", "3 0 1 1.5")),
              "a.ply:14: 1.5 is not the number of a vertex");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "3 0 1 2", "-3 0 1 2")),
              "a.ply:14: -3 is not the length of a list");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "3 0 1 2", "2 0 1")),
              "a.ply:14: face 0 has 2 corners; a face needs at least 3");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "3 0 1 2", "3 0 1 0")),
              "a.ply:14: face 0 names one vertex twice");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "0 1.5 0", "2 0 0")),
              "a.ply:14: face 0 has no area: its corners lie on one line");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "1 0 0\n0 1.5 0", "1e200 0 0\n0 1e200 0")),
              "a.ply:14: face 0 is too large: its area overflows");
}

TEST(em3d_ply, rejects_bad_coordinates) {
    EXPECT_EQ(complaint(replaced(ascii_triangle, "0 1.5 0", "0 nan 0")),
              "a.ply:13: vertex 2 has a coordinate that is not a finite number");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "0 1.5 0", "0 -inf 0")),
              "a.ply:13: vertex 2 has a coordinate that is not a finite number");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "0 1.5 0", "0 1,5 0")),
              "a.ply:13: '1,5' is not a number");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "0 1.5 0", "0 1e999 0")),
              "a.ply:13: '1e999' is not a number");
}

TEST(em3d_ply, rejects_a_mesh_without_faces) {
    EXPECT_EQ(complaint(replaced(replaced(ascii_triangle, "face 1", "face 0"), "3 0 1 2\n", "")),
              "a.ply:13: the mesh has no faces");
    const std::size_t faces = ascii_triangle.find("element face");
    const std::string without =
        ascii_triangle.substr(0, faces) + "end_header\n0 0 0\n1 0 0\n0 1 0\n";
    EXPECT_EQ(complaint(without),
              "a.ply:8: the header declares no element 'face': no faces, no mesh");
}

TEST(em3d_ply, absurd_counts_cost_nothing) {
    EXPECT_EQ(complaint(replaced(ascii_triangle, "vertex 3", "vertex 18446744073709551615")),
              "a.ply:14: the line goes on with '2' after 'vertex' 3 of 18446744073709551615");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "vertex 3", "vertex 18446744073709551616")),
              "a.ply:4: '18446744073709551616' is not a count of elements");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "3 0 1 2", "4000000000 0 1 2")),
              "a.ply:14: the line ends within 'face' 0 of 1");
    std::string binary = binary_triangle("binary_big_endian", true);
    binary[binary.size() - 10] = '\x7f';
    EXPECT_EQ(complaint(binary), "a.ply: byte " + std::to_string(binary.size() - 10) +
                                     ": the file ends within 'face' 0 of 1");
    EXPECT_EQ(complaint("ply\nformat binary_big_endian 1.0\nelement vertex 3\nproperty char x\n"
                        "property char y\nproperty char z\nelement face 1\n"
                        "property list int int vertex_index\nelement none 999999999999\n"
                        "end_header\n"),
              "a.ply:9: element 'none' has no properties");
}

TEST(em3d_ply, rejects_bad_headers) {
    EXPECT_EQ(complaint(""), "a.ply:1: the file is empty");
    EXPECT_EQ(complaint("plyx\n"), "a.ply:1: not a PLY file: its first line is not 'ply'");
    EXPECT_EQ(complaint("ply"), "a.ply:1: the file ends within the header");
    EXPECT_EQ(complaint("ply\nend_header\n"), "a.ply:2: the header names no format");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "ascii", "text")),
              "a.ply:2: 'text' is not a format; the formats are ascii, binary_little_endian, "
              "binary_big_endian");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "1.0", "2.0")),
              "a.ply:2: version '2.0' is not 1.0");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "float y", "real y")),
              "a.ply:6: 'real' is not a type; the types are char, uchar, short, ushort, int, uint, "
              "float, double");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "float y", "float x")),
              "a.ply:6: property 'x' is declared twice");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "float y", "float q")),
              "a.ply:4: the vertices lack a number y");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "float y", "list int float y")),
              "a.ply:4: the vertices lack a number y");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "vertex_indices", "corners")),
              "a.ply:8: the faces lack a list vertex_indices (or vertex_index)");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "uchar int", "uchar float")),
              "a.ply:8: the faces name their vertices with a type that is not an integer");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "uchar int", "float int")),
              "a.ply:9: the length of a list must have an integer type");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "comment", "komment")),
              "a.ply:3: 'komment' is not a line of a PLY header");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "element face", "element vertex")),
              "a.ply:8: element 'vertex' is declared twice");
    EXPECT_EQ(complaint(replaced(ascii_triangle, "element vertex", "elephant vertex")),
              "a.ply:4: 'elephant' is not a line of a PLY header");
}

TEST(em3d_ply, messages_stay_printable) {
    const std::string wrong = complaint("ply\n" + std::string(300, '\x01') + "\nx");
    EXPECT_EQ(wrong.find('\x01'), std::string::npos);
    EXPECT_LT(wrong.size(), 300U);
}

}  // namespace
}  // namespace em3d
