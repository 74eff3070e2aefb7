// SPDX-License-Identifier: Apache-2.0
#include "machine/node/job_setting.hpp"

#include <gtest/gtest.h>

#include "unit/environment.hpp"

namespace selion::machine::node {
namespace {

bool compares_calls() {
    return make_setting(split_spec("threads:1").value(), {}).value().compares_calls;
}

using job_setting_test = own_environment;

TEST_F(job_setting_test, calls_are_compared_where_all_is_checked_or_as_is_asked) {
    EXPECT_EQ(compares_calls(), SELION_CHECK_LEVEL >= 2);
    set("SELION_CHECK_CALLS", "on");
    EXPECT_TRUE(compares_calls());
    set("SELION_CHECK_CALLS", "off");
    EXPECT_FALSE(compares_calls());
}

}  // namespace
}  // namespace selion::machine::node
