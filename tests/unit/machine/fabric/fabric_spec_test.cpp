// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/fabric_spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace selion::machine::fabric {
namespace {

using testing::HasSubstr;

machine_spec split(std::string_view text) { return split_spec(text).value(); }

std::string trouble_of(std::string_view text) {
    const result<wished_shape> shape = parse_spec(split(text));
    return shape ? "" : shape.trouble().what();
}

launch_place started(std::uint32_t processes) {
    launch_place place;
    place.processes = processes;
    place.processes_on_host = processes;
    return place;
}

result<node::job_setting> setting_of(std::string_view text, std::uint32_t processes) {
    const machine_spec spec = split(text);
    return setting_of(spec, parse_spec(spec).value(), started(processes));
}

TEST(fabric_spec, says_how_many_processes_and_ranks) {
    struct {
        std::string_view text;
        std::uint32_t processes;
        std::uint32_t ranks_per_process;
    } const known[] = {{"fabric", 0, 1},
                       {"fabric:4", 4, 1},
                       {"fabric:x4", 0, 4},
                       {"fabric:2x4", 2, 4},
                       {"fabric:x1,direct=off", 0, 1},
                       {"fabric:x2,progress=interrupt", 0, 2}};
    for (const auto& [text, processes, ranks_per_process] : known) {
        const result<wished_shape> shape = parse_spec(split(text));
        ASSERT_TRUE(shape) << shape.trouble().what();
        EXPECT_EQ(shape.value().processes, processes) << text;
        EXPECT_EQ(shape.value().ranks_per_process, ranks_per_process) << text;
    }
}

TEST(fabric_spec, that_is_wrong_is_explained) {
    EXPECT_THAT(trouble_of("fabric:x0"), HasSubstr("\"0\" is not a number of ranks in each"));
    EXPECT_THAT(trouble_of("fabric:x"), HasSubstr("\"\" is not a number of ranks in each process"));
    EXPECT_THAT(trouble_of("fabric:0x2"), HasSubstr("\"0\" is not a number of processes"));
    EXPECT_THAT(trouble_of("fabric:2x2x2"), HasSubstr("\"2x2\" is not a number of ranks"));
    EXPECT_THAT(trouble_of("fabric:four"), HasSubstr("\"four\" is not a number of ranks (1 to"));
    EXPECT_THAT(trouble_of("fabric:x1048576"), HasSubstr("(1 to 1048575)"));
    EXPECT_THAT(trouble_of("fabric:x64@2"), HasSubstr("leave the @ out"));
    EXPECT_THAT(trouble_of("fabric:x"), HasSubstr("legal forms are fabric, fabric:N, fabric:xT"));
}

TEST(fabric_spec, describes_the_ranks_of_all_processes) {
    const result<node::job_setting> setting = setting_of("fabric:x4,direct=off", 3);
    ASSERT_TRUE(setting) << setting.trouble().what();
    const machine_description& words = setting.value().description;
    EXPECT_EQ(words.spec, "fabric:3x4,direct=off");
    EXPECT_EQ(words.ranks, 12u);
    EXPECT_EQ(words.processes, 3u);
    EXPECT_EQ(words.carriers, 12u);
    EXPECT_FALSE(words.capabilities.isolates_ranks);
    EXPECT_EQ(setting.value().shape.ranks_per_process, 4u);
    EXPECT_FALSE(setting.value().shape.has_fibers());
}

TEST(fabric_spec, of_one_rank_a_process_needs_no_second_number) {
    for (const std::string_view text : {"fabric", "fabric:3", "fabric:x1", "fabric:3x1"}) {
        const result<node::job_setting> setting = setting_of(text, 3);
        ASSERT_TRUE(setting) << setting.trouble().what();
        EXPECT_EQ(setting.value().description.spec, "fabric:3");
        EXPECT_TRUE(setting.value().description.capabilities.isolates_ranks);
    }
}

TEST(fabric_spec, of_another_number_than_the_launchers_is_refused) {
    EXPECT_THAT(setting_of("fabric:8", 2).trouble().what(),
                HasSubstr("the launcher has started 2, and fabric:x4 has 8 ranks in them;"));
    EXPECT_THAT(setting_of("fabric:3", 2).trouble().what(), HasSubstr("has started 2;"));
    EXPECT_THAT(setting_of("fabric:4x2", 2).trouble().what(), HasSubstr("has started 2;"));
    EXPECT_THAT(setting_of("fabric:x1048575", 2).trouble().what(), HasSubstr("more than 1048575"));
}

}  // namespace
}  // namespace selion::machine::fabric
