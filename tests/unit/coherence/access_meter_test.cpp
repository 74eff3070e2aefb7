// SPDX-License-Identifier: Apache-2.0
#include "coherence/access_meter.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/kept_place.hpp"

namespace selion::coherence {
namespace {

/// The program and a library have a text each for one header's name.
TEST(access_meter, a_line_of_a_header_is_one_whoever_has_included_it) {
    const std::string name_here = "in/numbers.hpp";
    const std::string name_there = name_here;
    const unit::kept_place here{name_here.c_str(), "", 7, 1};
    const unit::kept_place there{name_there.c_str(), "", 7, 1};
    const unit::kept_place below{name_there.c_str(), "", 8, 1};
    const std::vector<named_array> arrays = {{0, 64, "numbers"}};
    access_meter meter(arrays);
    ++meter.at(8, unit::location_of(here)).reads;
    ++meter.at(16, unit::location_of(there)).reads;
    ++meter.at(24, unit::location_of(below)).writes;
    const std::vector<access_line> lines = meter.lines();
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].line, 7u);
    EXPECT_EQ(lines[0].counts.reads, 2u);
    EXPECT_EQ(lines[1].counts.writes, 1u);
}

}  // namespace
}  // namespace selion::coherence
