// SPDX-License-Identifier: Apache-2.0
#include "field_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "bad_file.hpp"
#include "sample_meshes.hpp"

namespace em3d {
namespace {

TEST(em3d_field_file, holds_mesh_and_values) {
    const mesh object{{{0, 0, 0}, {1, 0, 0.5}, {0, 1, 1e-30}}, {2, 0, 1}, {0, 3}};
    const mesh_graph graph(object, 1);
    const field_values values{{0.1, std::nextafter(0.1, 1), -2}, {1e300}};
    EXPECT_EQ(as_field_json(object, graph, values, "a \"b\".ply", 7),
              "{\"program\": \"em3d\",\n"
              "\"format\": 1,\n"
              "\"mesh\": \"a \\\"b\\\".ply\",\n"
              "\"iterations\": 7,\n"
              "\"vertices\": [[0, 0, 0], [1, 0, 0.5], [0, 1, 1e-30]],\n"
              "\"faces\": [[2, 0, 1]],\n"
              "\"magnetic\": [1e+300],\n"
              "\"edges\": [[0, 1], [0, 2], [1, 2]],\n"
              "\"electric\": [0.1, 0.10000000000000002, -2]}\n");
}

TEST(em3d_field_file, has_null_for_what_is_no_number) {
    const mesh object = sheet(1, 1);
    const mesh_graph graph(object, 1);
    const field_values values{{1, 2, 3, 4, 5},
                              {std::numeric_limits<double>::infinity(), std::nan("")}};
    EXPECT_NE(as_field_json(object, graph, values, "m", 1).find("\"magnetic\": [null, null]"),
              std::string::npos);
}

TEST(em3d_field_file, says_where_it_cannot_be_written) {
    try {
        write_file("/dev/null/field.json", "text");
        FAIL() << "accepted";
    } catch (const bad_file& wrong) {
        EXPECT_STREQ(wrong.what(), "/dev/null/field.json: cannot be opened for writing");
    }
}

}  // namespace
}  // namespace em3d
