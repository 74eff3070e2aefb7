// SPDX-License-Identifier: Apache-2.0
#include "machine/node/job_setting.hpp"

#include <gmock/gmock.h>

#include <string>

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

/// Of ranks on one thread. @return what is wrong; nothing: none.
std::string trouble_with(const std::string& text) {
    const machine_spec spec = split_spec(text).value();
    const result<job_setting> made = make_setting(spec, threads_shape(spec, 2).value());
    return made ? "" : made.trouble().what();
}

TEST_F(job_setting_test, no_more_ranks_share_memory_than_a_collective_has_room_for) {
    EXPECT_EQ(trouble_with("threads:32768@1"), "");
    EXPECT_THAT(trouble_with("threads:32769@1"),
                testing::HasSubstr("32769 ranks; at most 32768 share memory, more take the option "
                                   "direct=off"));
    EXPECT_EQ(trouble_with("threads:32769@1,direct=off"), "");
}

}  // namespace
}  // namespace selion::machine::node
