// SPDX-License-Identifier: Apache-2.0
/// Collectives by messages, under schedules of ranks and messages that a seed chooses.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <bit>
#include <vector>

#include "collectives/message_tree.hpp"
#include "property/collectives/unruly_machine.hpp"

namespace selion::collectives {
namespace {

struct call {
    bool is_broadcast;
    std::uint32_t root;
    std::size_t words;
};

std::uint64_t word_of(std::size_t number, std::uint32_t rank, std::size_t index) {
    return (number * 1'000'003 + rank * 7919 + index + 1) * 0x9e3779b97f4a7c15ull;
}

/// Neither commutative nor associative: another order or association shows.
std::uint64_t mix(const std::uint64_t& left, const std::uint64_t& right) {
    return std::rotl(left, 7) * 0xd6e8feb86659fd93ull + right;
}

std::uint64_t combined(std::size_t number, std::uint32_t first, std::uint32_t ranks,
                       std::size_t index) {
    if (ranks == 1) return word_of(number, first, index);
    const std::uint32_t left = std::bit_floor(ranks - 1);
    return mix(combined(number, first, left, index),
               combined(number, first + left, ranks - left, index));
}

bool is_right(message_tree& tree, const detail::rank_context& context, const call& which,
              std::size_t number) {
    std::vector<std::uint64_t> data;
    for (std::size_t i = 0; i < which.words; ++i) data.push_back(word_of(number, context.rank, i));
    const std::uint32_t root = which.root % context.ranks;
    if (which.is_broadcast) {
        tree.broadcast(std::as_writable_bytes(std::span(data)), root);
    } else {
        tree.all_reduce(reinterpret_cast<std::byte*>(data.data()), data.size(),
                        detail::erase_reduction<std::uint64_t>(mix));
    }
    // Of long ones both ends and some between.
    for (std::size_t i = 0; i < data.size(); i += i + 10 < data.size() && i > 10 ? 101 : 1) {
        const std::uint64_t expected =
            which.is_broadcast ? word_of(number, root, i) : combined(number, 0, context.ranks, i);
        if (data[i] != expected) return false;
    }
    return true;
}

struct outcome {
    bool has_ended;
    std::size_t wrong;  ///< first wrong call of any rank
};

outcome run_calls(unruly_machine& machine, const std::vector<call>& calls) {
    std::atomic<std::size_t> wrong = calls.size();
    const bool has_ended = machine.run([&](detail::rank_context& context, team_block&) {
        const team_members members(context);
        message_tree tree(context, members);
        for (std::size_t i = 0; i < calls.size(); ++i) {
            if (!is_right(tree, context, calls[i], i) && i < wrong) wrong = i;
        }
    });
    return {has_ended, wrong};
}

/// Letters, parcels, and data of several parts.
rc::Gen<call> any_call() {
    return rc::gen::build<call>(
        rc::gen::set(&call::is_broadcast),
        rc::gen::set(&call::root, rc::gen::weightedOneOf<std::uint32_t>(
                                      {{1, rc::gen::just(0u)}, {1, rc::gen::inRange(0u, 100u)}})),
        rc::gen::set(&call::words, rc::gen::weightedOneOf<std::size_t>(
                                       {{14, rc::gen::inRange<std::size_t>(0, 7)},
                                        {6, rc::gen::inRange<std::size_t>(7, 100)},
                                        {1, rc::gen::inRange<std::size_t>(4000, 10'000)},
                                        {1, rc::gen::inRange<std::size_t>(10'000, 25'000)}})));
}

/// Two calls in turn, several times: so that one rank's messages pile up before another.
struct passage {
    call first;
    call second;
    std::uint32_t times;
};

[[maybe_unused]] void showValue(const passage& one, std::ostream& out) {
    for (const call& which : {one.first, one.second}) {
        out << (which.is_broadcast ? "broadcast" : "all_reduce") << " of " << which.words
            << " words, root " << which.root << "; ";
    }
    out << one.times << " times";
}

rc::Gen<passage> any_passage() {
    return rc::gen::build<passage>(rc::gen::set(&passage::first, any_call()),
                                   rc::gen::set(&passage::second, any_call()),
                                   rc::gen::set(&passage::times, rc::gen::inRange(1u, 9u)));
}

std::vector<call> calls_of(const std::vector<passage>& passages) {
    std::vector<call> calls;
    for (const passage& one : passages) {
        for (std::uint32_t i = 0; i < one.times; ++i) {
            calls.push_back(one.first);
            calls.push_back(one.second);
        }
    }
    return calls;
}

RC_GTEST_PROP(message_schedules, every_schedule_gives_the_same_results, ()) {
    const auto ranks = *rc::gen::inRange(1u, 18u);
    const auto first_seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto calls = calls_of(*rc::gen::container<std::vector<passage>>(4, any_passage()));
    for (std::uint64_t seed = first_seed; seed < first_seed + 6; ++seed) {
        unruly_machine machine(ranks, seed);
        const outcome result = run_calls(machine, calls);
        RC_LOG() << ranks << " ranks, seed " << seed << ", first wrong call: " << result.wrong
                 << " of " << calls.size() << '\n';
        RC_ASSERT(result.has_ended);
        RC_ASSERT(result.wrong == calls.size());
        RC_ASSERT(machine.gets() == 0u);
    }
}

/// Broadcasts from one root run ahead of who is slow as far as they may.
std::vector<call> broadcasts(std::size_t count, std::size_t words) {
    return std::vector<call>(count, {.is_broadcast = true, .root = 0, .words = words});
}

/// Seeds of 1 to `seeds` under which the calls went wrong or stopped.
std::uint64_t count_failures(std::uint64_t seeds, fault seeded, const std::vector<call>& calls) {
    std::uint64_t failures = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        unruly_machine machine(3, seed, seeded);
        const outcome result = run_calls(machine, calls);
        failures += !result.has_ended || result.wrong != calls.size();
    }
    return failures;
}

TEST(message_schedules, a_credit_too_many_is_noticed) {
    EXPECT_EQ(count_failures(100, fault::none, broadcasts(20, 2)), 0u);
    EXPECT_GE(count_failures(100, fault::early_credit, broadcasts(20, 2)), 5u);
}

TEST(message_schedules, an_invitation_too_early_is_noticed) {
    EXPECT_EQ(count_failures(100, fault::none, broadcasts(3, 20'000)), 0u);
    EXPECT_GE(count_failures(100, fault::early_invitation, broadcasts(3, 20'000)), 5u);
}

TEST(message_schedules, a_signal_before_its_data_is_noticed) {
    EXPECT_GE(count_failures(100, fault::torn_message, broadcasts(20, 2)), 5u);
    EXPECT_GE(count_failures(100, fault::torn_message, broadcasts(20, 20)), 5u);
}

TEST(message_schedules, messages_are_counted) {
    constexpr std::uint32_t ranks = 13;
    const auto messages_of = [](const std::vector<call>& calls) {
        unruly_machine machine(ranks, 7);
        EXPECT_TRUE(run_calls(machine, calls).has_ended);
        EXPECT_EQ(machine.gets(), 0u);
        return machine.messages();
    };
    const std::vector<call> reductions(50, {.is_broadcast = false, .root = 0, .words = 6});
    EXPECT_EQ(messages_of(reductions), 50 * 2 * (ranks - 1));
    // Each link tells after every second letter that it has taken two.
    EXPECT_EQ(messages_of(broadcasts(50, 6)), (50 + 25) * (ranks - 1));
    EXPECT_EQ(messages_of(broadcasts(50, 7)), 50 * 2 * (ranks - 1));
    const std::vector<call> long_reductions(50, {.is_broadcast = false, .root = 0, .words = 7});
    EXPECT_EQ(messages_of(long_reductions), 50 * 3 * (ranks - 1));
}

TEST(message_schedules, letters_leave_the_slots_alone) {
    constexpr std::uint32_t ranks = 13;
    const auto touched_slots = [](std::size_t words) {
        unruly_machine machine(ranks, 3);
        const std::vector<call> calls{{.is_broadcast = true, .root = 5, .words = words},
                                      {.is_broadcast = false, .root = 0, .words = words}};
        EXPECT_TRUE(run_calls(machine, calls).has_ended);
        std::uint32_t touched = 0;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            touched += std::ranges::any_of(machine.block(rank).slots[0],
                                           [](std::byte b) { return b != std::byte{0}; });
        }
        return touched;
    };
    EXPECT_EQ(touched_slots(6), 0u);
    EXPECT_EQ(touched_slots(7), ranks);
}

}  // namespace
}  // namespace selion::collectives
