// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "bad_file.hpp"
#include "mesh_file.hpp"
#include "mesh_writer.hpp"

namespace em3d {
namespace {

/// Shift by at most a quarter, exact in a float.
double any_shift() { return static_cast<double>(*rc::gen::inRange(-256, 257)) / 1024; }

/// A mesh that obeys the rules of a mesh. Its vertices lie near a parabola, and a face takes them
/// in order, so that every face is convex and has an area, however the case is shrunk.
mesh any_mesh() {
    mesh made;
    const auto vertices = *rc::gen::inRange<std::uint32_t>(3, 40);
    for (std::uint32_t i = 0; i < vertices; ++i) {
        const auto along = static_cast<double>(i);
        made.vertices.push_back(
            {along + any_shift() / 8, along * along + any_shift() / 8, any_shift()});
    }
    const auto faces = *rc::gen::inRange(1, 30);
    for (int f = 0; f < faces; ++f) {
        const auto some =
            *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0U, vertices));
        std::set<std::uint32_t> corners(some.begin(), some.end());
        for (std::uint32_t i = 0; corners.size() < 3; ++i) corners.insert(i);
        made.corners.insert(made.corners.end(), corners.begin(), corners.end());
        if (*rc::gen::arbitrary<bool>()) {
            std::reverse(made.corners.end() - static_cast<std::ptrdiff_t>(corners.size()),
                         made.corners.end());
        }
        made.first_corner.push_back(made.corners.size());
    }
    return made;
}

ply_style any_ply_style() {
    const auto any = [] { return *rc::gen::arbitrary<bool>(); };
    return {*rc::gen::element(ply_style::layout::ascii, ply_style::layout::little_endian,
                              ply_style::layout::big_endian),
            any(), any(), any(), any()};
}

RC_GTEST_PROP(em3d_mesh_round_trip, a_written_ply_reads_back_equal, ()) {
    const mesh object = any_mesh();
    RC_ASSERT(parse_mesh(write_ply(object, any_ply_style()), "a") == object);
}

RC_GTEST_PROP(em3d_mesh_round_trip, a_written_obj_reads_back_equal, ()) {
    const mesh object = any_mesh();
    const bool is_backwards = *rc::gen::arbitrary<bool>();
    const bool has_extras = *rc::gen::arbitrary<bool>();
    RC_ASSERT(parse_mesh(write_obj(object, {is_backwards, has_extras}), "a.obj") == object);
}

/// True if the reader says what is wrong, in one line that begins with the file's name.
bool is_rejected(const std::string& bytes) {
    try {
        parse_mesh(bytes, "a.ply");
        return false;
    } catch (const bad_file& wrong) {
        const std::string sentence = wrong.what();
        return sentence.starts_with("a.ply") && sentence.find('\n') == std::string::npos;
    }
}

RC_GTEST_PROP(em3d_mesh_round_trip, a_cut_binary_ply_is_rejected, ()) {
    ply_style style = any_ply_style();
    style.format = ply_style::layout::little_endian;
    const std::string whole = write_ply(any_mesh(), style);
    const auto size = *rc::gen::inRange<std::size_t>(0, whole.size());
    RC_ASSERT(is_rejected(whole.substr(0, size)));
}

RC_GTEST_PROP(em3d_mesh_round_trip, a_changed_byte_is_read_or_rejected, ()) {
    std::string bytes = write_ply(any_mesh(), any_ply_style());
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    bytes[at] = *rc::gen::arbitrary<char>();
    if (is_rejected(bytes)) return;
    const mesh read = parse_mesh(bytes, "a.ply");
    RC_ASSERT(read.face_count() > 0U);
    for (const std::uint32_t corner : read.corners) RC_ASSERT(corner < read.vertices.size());
}

}  // namespace
}  // namespace em3d
