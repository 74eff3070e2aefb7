// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "bad_file.hpp"
#include "mesh_file.hpp"

namespace em3d {
namespace {

const std::string corners = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";
const mesh square{{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}}, {0, 1, 2, 3}, {0, 4}};

std::string complaint(const std::string& text) {
    try {
        parse_mesh(text, "a.obj");
    } catch (const bad_file& wrong) {
        return wrong.what();
    }
    return "accepted";
}

TEST(em3d_obj, reads_all_forms_of_a_face) {
    for (const char* face :
         {"f 1 2 3 4", "f 1/1 2/2 3/3 4/4", "f 1//1 2//1 3//1 4//1", "f 1/1/1 2/2/1 3/3/1 4/4/1",
          "f -4 -3 -2 -1", "f -4/-4/-1 -3/-3/-1 -2/-2/-1 -1/-1/-1", "f 1 2 \\\n 3 4",
          "f\t1  2 3 4   # a square", "f +1 2 3 4"}) {
        EXPECT_EQ(parse_mesh(corners + face, "a.obj"), square) << face;
    }
}

TEST(em3d_obj, passes_over_other_statements_and_comments) {
    const std::string text = "# square\nmtllib a.mtl\no thing\n" + corners +
                             "vt 0 0\nvn 0 0 1\ng all\nusemtl red\ns off\nf 1 2 3 4\nl 1 2\n\n";
    EXPECT_EQ(parse_mesh(text, "dir/A.OBJ"), square);
}

TEST(em3d_obj, reads_weights_and_colours_as_nothing) {
    EXPECT_EQ(parse_mesh("v 0 0 0 1\nv 1 0 0 0.5 0.5 0.5\nv 1 1 0\nv 0 1 0\nf 1 2 3 4", "a.obj"),
              square);
}

TEST(em3d_obj, a_face_may_come_before_its_vertices) {
    EXPECT_EQ(parse_mesh("f 1 2 3 4\n" + corners, "a.obj"), square);
}

TEST(em3d_obj, negative_indices_count_from_the_vertices_so_far) {
    const mesh read = parse_mesh(corners + "f -4 -3 -2\nv 5 5 5\nf -5 -4 -1\n", "a.obj");
    EXPECT_EQ(read.corners, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 4}));
}

TEST(em3d_obj, rejects_bad_faces) {
    EXPECT_EQ(complaint(corners + "f 1 2 5"),
              "a.obj:5: face 1 names vertex 5, but the vertices are 1 to 4");
    EXPECT_EQ(complaint("\nf 1 2 3"), "a.obj:2: face 1 names vertex 1, but there are none");
    EXPECT_EQ(complaint(corners + "f 0 1 2"),
              "a.obj:5: vertices are numbered from 1 (or from -1 backwards), not from 0");
    EXPECT_EQ(complaint(corners + "f -5 1 2"),
              "a.obj:5: index '-5' goes back beyond the first of the 4 vertices so far");
    EXPECT_EQ(complaint(corners + "f 4294967297 1 2"),
              "a.obj:5: index '4294967297' is larger than this program can number");
    EXPECT_EQ(complaint(corners + "f 1 2 x"), "a.obj:5: 'x' does not name a vertex");
    EXPECT_EQ(complaint(corners + "f /1 2 3"), "a.obj:5: '/1' does not name a vertex");
    EXPECT_EQ(complaint(corners + "f 1 2"),
              "a.obj:5: face 1 has 2 corners; a face needs at least 3");
    EXPECT_EQ(complaint(corners + "f 1 2 3\nf 1 2 1"), "a.obj:6: face 2 names one vertex twice");
    EXPECT_EQ(complaint(corners + "v 2 0 0\nf 1 2 5"),
              "a.obj:6: face 1 has no area: its corners lie on one line");
}

TEST(em3d_obj, rejects_bad_vertices_and_statements) {
    EXPECT_EQ(complaint("v 0 0\n"), "a.obj:1: a vertex needs three coordinates");
    EXPECT_EQ(complaint("v 0 0 nan\n"),
              "a.obj:1: vertex 1 has a coordinate that is not a finite number");
    EXPECT_EQ(complaint("v 0 0 1.x\n"), "a.obj:1: '1.x' is not a number");
    EXPECT_EQ(complaint("hello world\n"), "a.obj:1: 'hello' is not a statement of an OBJ file");
    EXPECT_EQ(complaint(corners), "a.obj:4: the mesh has no faces");
    EXPECT_EQ(complaint("# nothing"), "a.obj:1: the mesh has no faces");
    EXPECT_EQ(complaint("f 1 2 \\"), "a.obj:1: face 1 has 2 corners; a face needs at least 3");
}

TEST(em3d_obj, a_long_face_is_checked) {
    std::string text;
    std::string face = "f";
    for (int i = 0; i < 100; ++i) {
        text += "v " + std::to_string(i) + " " + std::to_string(i * i) + " 0\n";
        face.append(" ").append(std::to_string(i + 1));
    }
    EXPECT_EQ(parse_mesh(text + face, "a.obj").face(0).size(), 100U);
    EXPECT_EQ(complaint(text + face + " 50"), "a.obj:101: face 1 names one vertex twice");
}

}  // namespace
}  // namespace em3d
