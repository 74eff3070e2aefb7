// SPDX-License-Identifier: Apache-2.0
#include "machine/host/control_group.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace selion::machine {
namespace {

/// Groups that lie in a folder of the test's own.
class control_group_test : public testing::Test {
protected:
    control_group_test()
        : folder_(testing::TempDir() + "selion_groups_" + std::to_string(getpid())) {}
    ~control_group_test() override { std::filesystem::remove_all(folder_); }

    void put(const std::string& name, const std::string& text) const {
        const std::filesystem::path path = folder_ / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text << '\n';
    }
    control_groups of(const std::string& membership) const {
        put("membership", membership);
        return control_groups(folder_ / "root", folder_ / "membership");
    }
    static std::optional<std::uint64_t> memory_of(const control_groups& groups) {
        return groups.lowest("memory", "memory.max", "memory.limit_in_bytes");
    }

    std::filesystem::path folder_;
};

TEST_F(control_group_test, without_any_nothing_is_bound) {
    const control_groups none(folder_ / "root", folder_ / "membership");
    EXPECT_EQ(memory_of(none), std::nullopt);
    EXPECT_EQ(none.processors(), std::nullopt);
}

TEST_F(control_group_test, the_own_group_and_all_above_it_count) {
    const control_groups groups = of("0::/jobs/step/task");
    put("root/memory.max", "9000");
    put("root/other/memory.max", "1");
    EXPECT_EQ(memory_of(groups), 9000u);
    put("root/jobs/memory.max", "5000");
    put("root/jobs/step/task/memory.max", "max");
    EXPECT_EQ(memory_of(groups), 5000u);
    put("root/jobs/step/memory.max", "7000");
    EXPECT_EQ(memory_of(groups), 5000u);
    put("root/jobs/step/task/memory.max", "3000");
    EXPECT_EQ(memory_of(groups), 3000u);
}

TEST_F(control_group_test, version_1_has_a_tree_for_each_controller) {
    const control_groups groups = of("5:cpu,cpuacct:/a\n4:memory:/b/c\n0::/d");
    put("root/memory/a/memory.limit_in_bytes", "1");
    put("root/memory/memory.limit_in_bytes", "9223372036854771712");
    EXPECT_EQ(memory_of(groups), 9223372036854771712u);
    put("root/memory/b/c/memory.limit_in_bytes", "4000");
    EXPECT_EQ(memory_of(groups), 4000u);
    put("root/cpu/cpu.cfs_quota_us", "-1");
    put("root/cpu/cpu.cfs_period_us", "100000");
    EXPECT_EQ(groups.processors(), std::nullopt);
    put("root/cpu/a/cpu.cfs_quota_us", "150000");
    put("root/cpu/a/cpu.cfs_period_us", "100000");
    EXPECT_EQ(groups.processors(), 1.5);
}

TEST_F(control_group_test, a_container_may_see_its_group_as_the_root) {
    const control_groups groups = of("4:memory:/docker/1f\n0::/docker/1f");
    put("root/memory.max", "6000");
    EXPECT_EQ(memory_of(groups), 6000u);
    put("root/memory/memory.limit_in_bytes", "5000");
    EXPECT_EQ(memory_of(groups), 5000u);
}

TEST_F(control_group_test, the_fewest_processors_count) {
    const control_groups groups = of("0::/jobs/step");
    put("root/cpu.max", "max 100000");
    EXPECT_EQ(groups.processors(), std::nullopt);
    put("root/jobs/cpu.max", "300000 100000");
    put("root/jobs/step/cpu.max", "max 100000");
    EXPECT_EQ(groups.processors(), 3.0);
    put("root/jobs/step/cpu.max", "50000 100000");
    EXPECT_EQ(groups.processors(), 0.5);
}

TEST_F(control_group_test, other_text_bounds_nothing) {
    const control_groups groups = of("strange\n0::\n::/x\n0::/..");
    put("root/memory.max", "many");
    put("root/cpu.max", "");
    EXPECT_EQ(memory_of(groups), std::nullopt);
    EXPECT_EQ(groups.processors(), std::nullopt);
}

}  // namespace
}  // namespace selion::machine
