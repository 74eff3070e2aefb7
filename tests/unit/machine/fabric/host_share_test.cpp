// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/host_share.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace selion::machine::fabric {
namespace {

constexpr std::uint64_t heap_bytes = 1 << 20;

/// Processes of one host, all in this one. Those before and after them are on others.
class host {
public:
    explicit host(std::uint32_t first, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) near_.push_back(first + i);
        for (const std::uint32_t process : near_) {
            launch_place& place = places_[process];
            place.process = process;
            place.processes = 100;
            place.processes_on_host = count;
            place.near = near_;
            shares_[process] = std::make_unique<host_share>(
                place, [this](std::uint32_t other) { return offers_.at(other); });
            offers_[process] = shares_[process]->offer(true);
        }
        setting.heap_bytes = heap_bytes;
        setting.message_bytes = 64 * 1024;
        terms.reserve_bytes = heap_bytes;
    }
    host_share& of(std::uint32_t process) { return *shares_.at(process); }
    share_offer& offer(std::uint32_t process) { return offers_.at(process); }
    launch_place& place(std::uint32_t process) { return places_.at(process); }
    result<node::shared_mapping> make(std::uint32_t process) {
        return of(process).make_mapping(setting, terms);
    }

    node::job_setting setting;
    job_terms terms;

private:
    std::vector<std::uint32_t> near_;
    std::map<std::uint32_t, launch_place> places_;
    std::map<std::uint32_t, share_offer> offers_;
    std::map<std::uint32_t, std::unique_ptr<host_share>> shares_;
};

TEST(host_share, processes_of_a_host_map_one_memory) {
    host made(4, 3);
    const auto first = made.make(4);
    ASSERT_TRUE(first.has_value()) << first.trouble().what();
    const auto last = made.make(6);
    ASSERT_TRUE(last.has_value()) << last.trouble().what();
    EXPECT_EQ(made.of(6).mapped(1).first, 4u);
    EXPECT_EQ(made.of(6).near_count(), 3u);
    EXPECT_EQ(made.of(6).own_index(), 2u);
    EXPECT_TRUE(last.value().is_shared());
    *first.value().slice(1) = std::byte{7};
    EXPECT_EQ(*last.value().slice(1), std::byte{7});
    EXPECT_EQ(last.value().control().ranks, 3u);
    EXPECT_EQ(last.value().file(), -1) << "only the first rank's process keeps the file";
}

TEST(host_share, others_wait_until_the_memory_is_whole) {
    host made(0, 2);
    std::atomic<bool> has_joined = false;
    std::jthread second([&] {
        const auto mapping = made.make(1);
        ASSERT_TRUE(mapping.has_value());
        EXPECT_EQ(mapping.value().control().reserve_bytes, heap_bytes);
        has_joined = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(has_joined);
    const auto first = made.make(0);
    ASSERT_TRUE(first.has_value());
    second.join();
    EXPECT_TRUE(has_joined);
}

TEST(host_share, part_of_a_host_has_its_part_of_the_memory) {
    host whole(0, 4);
    host divided(0, 4);
    divided.offer(2).part_of_host = 1;
    divided.offer(3).part_of_host = 1;
    const auto all = whole.make(0);
    const auto half = divided.make(0);
    ASSERT_TRUE(all.has_value() && half.has_value());
    EXPECT_EQ(divided.of(0).near_count(), 2u);
    EXPECT_EQ(half.value().control().memory_limit, all.value().control().memory_limit / 2);
}

TEST(host_share, processes_between_which_others_stand_share_nothing) {
    host made(4, 1);
    made.place(4).near = {2, 4, 6};
    const auto alone = made.make(4);
    ASSERT_TRUE(alone.has_value());
    EXPECT_EQ(made.of(4).near_count(), 1u);
    EXPECT_FALSE(alone.value().is_shared());
}

TEST(host_share, processes_that_do_not_see_each_other_share_nothing) {
    host made(0, 2);
    made.offer(1).view += 1;
    ASSERT_TRUE(made.make(0).has_value());
    EXPECT_EQ(made.of(0).near_count(), 1u);
}

TEST(host_share, signals_have_fences_if_one_process_lacks_barriers) {
    for (const bool lacks : {false, true}) {
        host made(0, 2);
        if (lacks) made.offer(1).has_barriers = 0;
        const auto mapping = made.make(0);
        ASSERT_TRUE(mapping.has_value());
        const bool has_all = made.offer(0).has_barriers != 0 && made.offer(1).has_barriers != 0;
        EXPECT_EQ(mapping.value().control().fence_signals, has_all ? 0u : 1u);
    }
}

TEST(host_share, a_file_that_is_another_one_by_now_is_refused_with_the_cure) {
    host made(0, 2);
    made.offer(0).inode += 1;
    const auto mapping = made.make(1);
    ASSERT_FALSE(mapping.has_value());
    EXPECT_THAT(mapping.trouble().what(), testing::HasSubstr("fabric,direct=off"));
}

TEST(host_share, a_process_that_is_gone_is_named) {
    host made(0, 2);
    made.offer(0).process = INT32_MAX;
    const auto mapping = made.make(1);
    ASSERT_FALSE(mapping.has_value());
    EXPECT_THAT(mapping.trouble().what(), testing::HasSubstr("process 2147483647"));
}

TEST(host_share, who_wants_to_be_alone_offers_nothing) {
    launch_place place;
    place.processes = place.processes_on_host = 2;
    place.near = {0, 1};
    host_share own(place, [](std::uint32_t) { return share_offer{}; });
    EXPECT_EQ(own.offer(false).view, 0u);
}

}  // namespace
}  // namespace selion::machine::fabric
