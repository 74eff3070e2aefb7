// SPDX-License-Identifier: Apache-2.0
#include "selion/schedule.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "collectives/pair_lines.hpp"
#include "selion/error.hpp"

namespace selion {
namespace {

using enum collective_kind;
using enum schedule_algorithm;
using testing::HasSubstr;

constexpr collective_kind all_collectives[] = {barrier,        broadcast, reduce,  all_reduce,
                                               reduce_scatter, scan,      exscan,  gather,
                                               all_gather,     scatter,   exchange};

std::string text_of(const schedule_request& request) {
    return fmt::format("{} {} of {} ranks from {}, radix {}, groups of {}, {} segments",
                       name_of(request.algorithm), name_of(request.collective), request.ranks,
                       request.root, request.radix, request.group, request.segments);
}

std::set<std::uint32_t> radixes_of(schedule_algorithm algorithm, std::uint32_t ranks) {
    const std::uint32_t most = std::max(ranks, 2u);
    if (!uses_radix(algorithm)) return {2};
    std::set<std::uint32_t> radixes{2, 3, 4, 5, 8, most};
    radixes.erase(radixes.upper_bound(most), radixes.end());
    return radixes;
}

void add_requests(std::vector<schedule_request>& all, const schedule_request& like) {
    const std::uint32_t ranks = like.ranks;
    const std::set<std::uint32_t> groups =
        uses_group(like.algorithm) ? std::set{1u, 2u, 3u, 4u, 7u, ranks} : std::set{2u};
    const std::set<std::uint32_t> segments =
        uses_segments(like.collective, like.algorithm) ? std::set{1u, 2u, 5u} : std::set{1u};
    for (const std::uint32_t radix : radixes_of(like.algorithm, ranks)) {
        for (const std::uint32_t group : groups) {
            for (const std::uint32_t parts : segments) {
                schedule_request request = like;
                request.radix = radix;
                request.group = group;
                request.segments = parts;
                all.push_back(request);
            }
        }
    }
}

/// All that differ for so many ranks.
std::vector<schedule_request> requests_for(std::uint32_t ranks) {
    std::vector<schedule_request> all;
    for (const collective_kind collective : all_collectives) {
        const std::set<std::uint32_t> roots =
            has_root(collective) ? std::set{0u, ranks / 2, ranks - 1} : std::set{0u};
        for (const schedule_algorithm algorithm : algorithms_for(collective)) {
            for (const std::uint32_t root : roots) {
                add_requests(all, {collective, algorithm, ranks, root});
            }
        }
    }
    return all;
}

TEST(schedule, a_group_may_be_larger_than_all_ranks) {
    EXPECT_EQ(play_schedule({all_reduce, hierarchical, 8, 0, 2, ~0u}).messages.size(), 14u);
}

/// @return how many were played.
std::size_t play_all(std::uint32_t ranks) {
    const std::vector<schedule_request> all = requests_for(ranks);
    for (const schedule_request& request : all) {
        EXPECT_NO_THROW(play_schedule(request)) << text_of(request);
    }
    return all.size();
}

TEST(schedule, everyone_is_complete) {
    std::size_t played = 0;
    for (std::uint32_t ranks = 1; ranks <= 20; ++ranks) played += play_all(ranks);
    EXPECT_GT(played, 4000u);
}

TEST(schedule, everyone_is_complete_with_many_ranks) {
    for (const std::uint32_t ranks : {31u, 32u, 64u}) play_all(ranks);
}

/// Most messages from one rank to another in a step of its own.
std::size_t most_to_one_in_a_step(const rank_schedule& own) {
    std::size_t most = 0;
    for (const schedule_step& step : own.steps) {
        std::map<std::uint32_t, std::size_t> sent;
        for (const schedule_message& message : step.sends) {
            most = std::max(most, ++sent[message.peer]);
        }
    }
    return most;
}

/// Else a send could wait for a message of its own step to be taken (lines.md).
TEST(schedule, messages_of_a_step_fit_into_the_window_of_lines) {
    for (const std::uint32_t ranks : {2u, 3u, 7u, 8u, 13u, 16u, 33u}) {
        for (const schedule_request& request : requests_for(ranks)) {
            for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                EXPECT_LE(most_to_one_in_a_step(make_schedule(request, rank)),
                          collectives::line_window)
                    << text_of(request);
            }
        }
    }
}

std::uint32_t rounds_of(const schedule_request& request) { return play_schedule(request).rounds; }

TEST(schedule, rounds_are_as_few_as_can_be) {
    for (std::uint32_t ranks = 1; ranks <= 40; ++ranks) {
        const auto levels = static_cast<std::uint32_t>(std::bit_width(ranks - 1));
        EXPECT_EQ(rounds_of({broadcast, k_nomial, ranks}), levels) << ranks;
        EXPECT_EQ(rounds_of({reduce, k_nomial, ranks}), levels) << ranks;
        EXPECT_EQ(rounds_of({barrier, dissemination, ranks}), levels) << ranks;
        EXPECT_EQ(rounds_of({all_gather, bruck, ranks}), levels) << ranks;
        EXPECT_EQ(rounds_of({exchange, bruck, ranks}), levels) << ranks;
        EXPECT_EQ(rounds_of({scan, recursive_doubling, ranks}), levels) << ranks;
        EXPECT_EQ(rounds_of({broadcast, flat, ranks}), ranks - 1) << ranks;
        EXPECT_EQ(rounds_of({all_gather, ring, ranks}), ranks - 1) << ranks;
        EXPECT_EQ(rounds_of({all_reduce, ring, ranks}), 2 * (ranks - 1)) << ranks;
        EXPECT_EQ(rounds_of({exchange, pairwise, ranks}), ranks - 1) << ranks;
        const std::uint32_t folds = std::has_single_bit(ranks) ? 0 : 2;
        EXPECT_EQ(rounds_of({all_reduce, recursive_doubling, ranks}),
                  static_cast<std::uint32_t>(std::bit_width(ranks)) - 1 + folds)
            << ranks;
    }
    EXPECT_EQ(rounds_of({broadcast, k_nomial, 16, 0, 4}), 6u);
    EXPECT_EQ(rounds_of({barrier, dissemination, 64, 0, 4}), 9u);
    EXPECT_EQ(rounds_of({broadcast, chain, 9}), 8u);
}

/// The trees that source 1 draws.
std::vector<int> parents(const schedule_request& request) {
    std::vector<int> parent(request.ranks, -1);
    for (const played_message& message : play_schedule(request).messages) {
        parent[message.to] = static_cast<int>(message.from);
    }
    return parent;
}

TEST(schedule, k_nomial_trees_are_those_of_the_source) {
    EXPECT_THAT(parents({broadcast, k_nomial, 16, 0, 2}),
                testing::ElementsAre(-1, 0, 0, 2, 0, 4, 4, 6, 0, 8, 8, 10, 8, 12, 12, 14));
    EXPECT_THAT(parents({broadcast, k_nomial, 16, 0, 4}),
                testing::ElementsAre(-1, 0, 0, 0, 0, 4, 4, 4, 0, 8, 8, 8, 0, 12, 12, 12));
    EXPECT_THAT(parents({broadcast, k_nomial, 16, 0, 8}),
                testing::ElementsAre(-1, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8));
    EXPECT_THAT(parents({broadcast, k_nomial, 5, 3, 2}), testing::ElementsAre(3, 0, 3, -1, 3));
}

TEST(schedule, some_keep_the_order_of_the_ranks) {
    for (const std::uint32_t ranks : {2u, 3u, 6u, 8u, 13u}) {
        for (const schedule_algorithm algorithm :
             {flat, k_nomial, binary, chain, hierarchical, mesh, recursive_doubling, pairwise}) {
            const schedule_request request{all_reduce, algorithm, ranks, 0, 2, 3};
            EXPECT_TRUE(play_schedule(request).keeps_order) << text_of(request);
        }
        for (const schedule_algorithm algorithm : algorithms_for(scan)) {
            EXPECT_TRUE(play_schedule({scan, algorithm, ranks}).keeps_order);
            EXPECT_TRUE(play_schedule({exscan, algorithm, ranks}).keeps_order);
        }
    }
    EXPECT_TRUE(play_schedule({reduce, mesh, 14, 6, 2, 4, 3}).keeps_order);
    EXPECT_FALSE(play_schedule({all_reduce, ring, 4}).keeps_order);
    EXPECT_FALSE(play_schedule({reduce, k_nomial, 4, 2}).keeps_order);
}

TEST(schedule, segments_follow_one_another_through_a_tree) {
    for (std::uint32_t segments = 1; segments <= 9; ++segments) {
        const schedule_request along_chain{broadcast, chain, 6, 0, 2, 2, segments};
        EXPECT_EQ(rounds_of(along_chain), 5 + segments - 1);
        const schedule_request up_chain{reduce, chain, 6, 0, 2, 2, segments};
        EXPECT_EQ(rounds_of(up_chain), 5 + segments - 1);
        EXPECT_EQ(make_schedule(along_chain, 3).blocks, segments);
    }
    EXPECT_FALSE(uses_segments(broadcast, scatter_ring));
    EXPECT_FALSE(uses_segments(all_gather, k_nomial));
}

std::uint32_t distance(std::uint32_t a, std::uint32_t b) { return a < b ? b - a : a - b; }

TEST(schedule, on_a_mesh_only_neighbours_talk) {
    for (const collective_kind collective : {barrier, broadcast, reduce, all_reduce}) {
        for (const std::uint32_t root : {0u, 6u, 19u}) {
            const schedule_request request{collective, mesh, 20, has_root(collective) ? root : 0,
                                           2,          5};
            for (const played_message& message : play_schedule(request).messages) {
                const std::uint32_t rows = distance(message.from / 5, message.to / 5);
                const std::uint32_t columns = distance(message.from % 5, message.to % 5);
                EXPECT_EQ(rows + columns, 1u) << text_of(request);
            }
        }
    }
}

TEST(schedule, an_all_gather_on_a_mesh_goes_along_rows_and_columns) {
    const played_schedule played = play_schedule({all_gather, mesh, 12, 0, 2, 4});
    for (const played_message& message : played.messages) {
        const bool is_along_row = message.from / 4 == message.to / 4;
        EXPECT_TRUE(is_along_row || message.from % 4 == message.to % 4);
        EXPECT_EQ(message.blocks.front().count, is_along_row ? 1u : 4u);
    }
    EXPECT_EQ(played.messages.size(), 12u * (3 + 2));
}

/// What is sent in all, in blocks.
std::uint64_t blocks_sent(const schedule_request& request) {
    std::uint64_t sum = 0;
    for (const played_message& message : play_schedule(request).messages) {
        for (const block_range& range : message.blocks) sum += range.count;
    }
    return sum;
}

TEST(schedule, nothing_is_sent_in_vain) {
    for (const std::uint64_t ranks : {2u, 5u, 8u, 12u}) {
        const auto n = static_cast<std::uint32_t>(ranks);
        for (const schedule_algorithm algorithm : {recursive_doubling, ring, bruck, pairwise}) {
            EXPECT_EQ(blocks_sent({all_gather, algorithm, n}), ranks * (ranks - 1));
        }
        EXPECT_EQ(blocks_sent({exchange, pairwise, n}), ranks * (ranks - 1));
        EXPECT_EQ(blocks_sent({all_reduce, ring, n}), 2 * ranks * (ranks - 1));
        EXPECT_EQ(blocks_sent({gather, flat, n}), ranks - 1);
        EXPECT_EQ(blocks_sent({broadcast, binary, n}), ranks - 1);
    }
}

std::string trouble_of(const schedule_request& request, std::uint32_t rank = 0) {
    try {
        make_schedule(request, rank);
    } catch (const error& trouble) {
        return trouble.what();
    }
    return "none";
}

TEST(schedule, bad_requests_are_refused_with_what_is_legal) {
    EXPECT_EQ(trouble_of({broadcast, k_nomial, 8, 8}),
              "schedule: the root 8 is no rank; ranks are 0 to 7");
    EXPECT_EQ(trouble_of({broadcast, k_nomial, 8, 0, 1}),
              "schedule: a radix of 1 is not possible; legal: 2 to 8");
    EXPECT_EQ(trouble_of({broadcast, k_nomial, 8, 0, 9}),
              "schedule: a radix of 9 is not possible; legal: 2 to 8");
    EXPECT_EQ(trouble_of({barrier, ring, 8}),
              "schedule: barrier has no algorithm ring; it has flat, k_nomial, binary, chain, "
              "hierarchical, mesh, dissemination");
    EXPECT_EQ(trouble_of({barrier, flat, 0}), "schedule: there are no ranks; at least 1 is needed");
    EXPECT_EQ(trouble_of({barrier, flat, 4, 1}), "schedule: barrier has no root; leave 1 out");
    EXPECT_EQ(trouble_of({barrier, flat, 4}, 4), "schedule: there is no rank 4; ranks are 0 to 3");
    EXPECT_EQ(trouble_of({barrier, hierarchical, 4, 0, 2, 0}),
              "schedule: a group of 0 ranks is not possible; at least 1 is needed");
    EXPECT_EQ(trouble_of({broadcast, chain, 3'000'000'000u, 1}),
              "schedule: 3000000000 ranks are too many; legal: 1 to 1048575");
    for (const std::uint32_t segments : {0u, 4097u}) {
        EXPECT_EQ(
            trouble_of({broadcast, chain, 4, 0, 2, 2, segments}),
            fmt::format("schedule: {} segments are not possible; legal: 1 to 4096", segments));
    }
    EXPECT_THAT([] { algorithm_of("k_nomal"); },
                testing::ThrowsMessage<error>(HasSubstr("did you mean 'k_nomial'?")));
    EXPECT_THAT([] { algorithm_of("chian", scan); },
                testing::ThrowsMessage<error>(
                    testing::StrEq("schedule: scan has no algorithm chian (did you mean 'chain'?); "
                                   "it has binary, chain, recursive_doubling")));
}

/// Schedules with a mistake in them: the play has to find it.
class broken : public testing::Test {
protected:
    static std::vector<rank_schedule> made(const schedule_request& request) {
        std::vector<rank_schedule> own;
        for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
            own.push_back(make_schedule(request, rank));
        }
        return own;
    }
    static std::string found_in(const schedule_request& request,
                                const std::vector<rank_schedule>& own) {
        try {
            play_schedule(request, own);
        } catch (const error& trouble) {
            return trouble.what();
        }
        return "nothing";
    }
};

TEST_F(broken, a_message_that_nobody_sends) {
    const schedule_request request{broadcast, k_nomial, 4};
    auto own = made(request);
    own[2].steps.pop_back();
    EXPECT_EQ(found_in(request, own), "schedule: nobody can go on: rank 3 in step 1 of 1");
}

TEST_F(broken, a_message_that_neither_end_has) {
    const schedule_request request{barrier, dissemination, 4};
    auto own = made(request);
    for (auto& each : own) each.steps.pop_back();
    EXPECT_EQ(found_in(request, own), "schedule: rank 0 goes on without rank 1");
}

TEST_F(broken, ends_that_disagree) {
    const schedule_request request{gather, k_nomial, 4};
    auto own = made(request);
    own[0].steps[0].receives[1].blocks[0].count = 1;
    EXPECT_EQ(found_in(request, own), "schedule: ranks 2 and 0 disagree about a message");
}

TEST_F(broken, a_value_that_counts_twice) {
    const schedule_request request{all_reduce, recursive_doubling, 4};
    auto own = made(request);
    for (auto& each : own) each.steps.push_back(each.steps.back());
    EXPECT_THAT(found_in(request, own), HasSubstr("twice"));
}

TEST_F(broken, a_block_that_comes_twice) {
    const schedule_request request{all_gather, ring, 3};
    auto own = made(request);
    for (auto& each : own) each.steps.push_back(each.steps.back());
    EXPECT_EQ(found_in(request, own), "schedule: rank 0 gets block 1 twice");
}

TEST_F(broken, a_block_that_is_sent_before_it_is_there) {
    const schedule_request request{broadcast, chain, 3};
    auto own = made(request);
    std::swap(own[1].steps[0], own[1].steps[1]);
    EXPECT_EQ(found_in(request, own), "schedule: rank 1 sends block 0 to 2 before it has it");
}

TEST_F(broken, ranks_that_wait_for_each_other) {
    const schedule_request request{exchange, pairwise, 2};
    auto own = made(request);
    for (auto& each : own) {  // without a buffer nobody can send before somebody receives
        schedule_step receive{{}, each.steps[0].receives};
        each.steps[0].receives.clear();
        each.steps.push_back(receive);
    }
    EXPECT_EQ(found_in(request, own),
              "schedule: nobody can go on: rank 0 in step 1 of 2, rank 1 in step 1 of 2");
}

TEST_F(broken, a_number_of_blocks_that_is_not_the_collective_s) {
    const auto without_steps = [](std::uint32_t ranks, std::uint64_t blocks) {
        return std::vector<rank_schedule>(ranks, {.blocks = blocks, .steps = {}});
    };
    EXPECT_EQ(found_in({all_gather, ring, 3}, without_steps(3, 0)),
              "schedule: the schedule counts 0 blocks; all_gather of 3 ranks has 3");
    EXPECT_EQ(found_in({gather, flat, 4}, without_steps(4, 1)),
              "schedule: the schedule counts 1 blocks; gather of 4 ranks has 4");
    EXPECT_EQ(found_in({exchange, pairwise, 4}, without_steps(4, 4)),
              "schedule: the schedule counts 4 blocks; exchange of 4 ranks has 16");
    auto forgotten = made({broadcast, chain, 3});
    for (auto& each : forgotten) each.blocks = 0;
    EXPECT_EQ(found_in({broadcast, chain, 3}, forgotten),
              "schedule: the schedule counts 0 blocks; broadcast of 3 ranks has 1 or more");
}

TEST_F(broken, a_range_of_blocks_that_are_not_there) {
    const schedule_request request{all_gather, ring, 3};
    auto longer = made(request);
    longer[0].steps[0].sends[0].blocks[0].count = UINT64_MAX;
    longer[1].steps[0].receives[0].blocks[0].count = UINT64_MAX;
    EXPECT_EQ(
        found_in(request, longer),
        "schedule: a message of rank 0 has 18446744073709551615 blocks from block 0 on; there "
        "are blocks 0 to 2");
    auto beyond = made(request);
    beyond[2].steps[1].receives[0].blocks[0].first = 3;
    EXPECT_EQ(
        found_in(request, beyond),
        "schedule: a message of rank 2 has 1 blocks from block 3 on; there are blocks 0 to 2");
    auto none = made({barrier, dissemination, 3});
    none[1].steps[0].sends[0].blocks.push_back({0, 1});
    EXPECT_EQ(found_in({barrier, dissemination, 3}, none),
              "schedule: a message names a block, of which there are none");
}

TEST_F(broken, a_sum_that_lacks_a_rank) {
    const schedule_request request{reduce, flat, 3};
    auto own = made(request);
    own[2].steps.clear();
    own[0].steps[0].receives.pop_back();
    EXPECT_EQ(found_in(request, own), "schedule: rank 0 lacks the value of rank 2 in block 0");
}

}  // namespace
}  // namespace selion
