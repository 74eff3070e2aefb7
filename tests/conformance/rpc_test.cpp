// SPDX-License-Identifier: Apache-2.0
/// Calls of functions on other ranks, and futures.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

int square(int value) { return value * value; }

SPMD_TEST(rpc, functions_lambdas_and_their_arguments) {
    for (std::uint32_t d = 0; d < world.size(); ++d) {
        const selion::rank_id to = test.neighbour(d);
        test.equal(selion::rpc(to, square, 12).get(), 144);
        test.equal(selion::rpc(to, &square, -3).get(), 9);
        const double factor = 0.5 + world.rank();
        auto scaled = selion::rpc(
            to, [factor](double x, std::uint32_t y) { return x * factor + y; }, 4.0, 3u);
        test.equal(scaled.get(), 4.0 * factor + 3);
    }
}

std::uint64_t fill(selion::global_ptr<std::uint64_t> first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) selion::put(first + i, i + 1);
    return count;
}

SPMD_TEST(rpc, a_reply_comes_behind_whatever_its_function_has_put) {
    // Also behind so many puts as overflow a counter of eight bits.
    for (const std::uint64_t count : {1, 255, 256, 512}) {
        spmd::symmetric_array<std::uint64_t> cells(world, count);
        test.equal(selion::rpc(test.neighbour(), fill, cells.own(), count).get(), count);
        std::uint64_t there = 0;
        for (std::uint64_t i = 0; i < count; ++i) there += cells.mine()[i] == i + 1 ? 1 : 0;
        test.equal(there, count);
        world.barrier();
    }
}

SPMD_TEST(rpc, a_rank_that_others_keep_asking_gets_its_answers) {
    spmd::symmetric_array<std::uint64_t> is_over(world, 1);
    world.barrier();
    if (world.rank() == 0) {
        for (int i = 0; i < 20; ++i) {
            test.equal(selion::rpc(test.neighbour(), square, i).get(), i * i);
        }
        std::atomic_ref(is_over.mine()[0]).store(1);
    } else {
        // A thread of its own may serve the question.
        const auto ask = [](selion::global_ptr<std::uint64_t> own) {
            return std::atomic_ref(*own.local()).load();
        };
        while (selion::rpc(0, ask, is_over.own().on(0)).get() == 0) continue;
    }
}

struct wide {
    std::uint64_t words[100];
};

SPMD_TEST(rpc, arguments_and_results_of_any_size) {
    wide much{};
    std::iota(std::begin(much.words), std::end(much.words), std::uint64_t{world.rank()});
    auto doubled = selion::rpc(
        test.neighbour(),
        [](const wide& came) {
            wide twice{};
            for (std::size_t i = 0; i < 100; ++i) twice.words[i] = 2 * came.words[i];
            return twice;
        },
        much);
    const wide back = doubled.get();
    for (std::size_t i = 0; i < 100; ++i) test.equal(back.words[i], 2 * (world.rank() + i));
}

template <std::size_t Words>
struct some_words {
    std::uint64_t words[Words];
};

/// There and back: of one length as argument, result, and header of a message.
template <std::size_t Words>
void echo(selion::world& world, spmd::test_run& test) {
    some_words<Words> sent{};
    std::iota(std::begin(sent.words), std::end(sent.words), std::uint64_t{world.rank()} << 32);
    const auto back =
        selion::rpc(
            test.neighbour(), [](const some_words<Words>& came) { return came; }, sent)
            .get();
    for (std::size_t i = 0; i < Words; ++i) test.equal(back.words[i], sent.words[i]);

    const spmd::symmetric_array<some_words<Words>> here(world, 1);
    selion::counter handled;
    const auto put_down = [there = here.at(test.neighbour())](const some_words<Words>& came,
                                                              selion::message_info) {
        *there.local() = came;
        return selion::arrival{};
    };
    selion::send(test.neighbour(), put_down, sent, {}, {.completion = &handled});
    handled.wait(1);
    world.barrier();
    for (std::size_t i = 0; i < Words; ++i) {
        test.equal(here.mine()->words[i] & 0xffff'ffff, std::uint64_t{i});
    }
    world.barrier();
    selion::send(test.neighbour(), put_down, some_words<Words>{});
    selion::rpc(test.neighbour(), [] {}).wait();  // comes behind it
    world.barrier();
    for (const std::uint64_t word : here.mine()->words) test.equal(word, std::uint64_t{0});
}

/// Messages of few words travel in registers, longer ones in one line, in two, or beside data.
SPMD_TEST(rpc, arguments_of_every_short_length) {
    [&]<std::size_t... Less>(std::index_sequence<Less...>) {
        (echo<Less + 1>(world, test), ...);
    }(std::make_index_sequence<12>());
}

SPMD_TEST(rpc, results_smaller_than_a_word) {
    struct three {
        std::uint8_t bytes[3];
    };
    const three back = selion::rpc(
                           test.neighbour(),
                           [](std::uint8_t first) { return three{{first, 2, 3}}; }, std::uint8_t{1})
                           .get();
    test.equal(back.bytes[0] + back.bytes[1] * 10 + back.bytes[2] * 100, 321);
    selion::rpc(test.neighbour(), [] {}).wait();
}

SPMD_TEST(rpc, spans_are_seen_at_the_target) {
    for (const std::size_t count : {0u, 1u, 17u, 5000u}) {
        std::vector<double> values(count);
        std::iota(values.begin(), values.end(), 1.0);
        const std::vector<std::int32_t> more(3, 7);
        auto sum = selion::rpc(
            test.neighbour(),
            [](std::span<const double> seen, int extra, std::span<const std::int32_t> others) {
                return std::accumulate(seen.begin(), seen.end(), 0.0) + extra +
                       std::accumulate(others.begin(), others.end(), 0);
            },
            values, 100, more);
        test.equal(sum.get(), static_cast<double>(count * (count + 1) / 2) + 121.0);
    }
}

SPMD_TEST(rpc, many_at_a_time) {
    constexpr int count = 300;
    std::vector<selion::future<int>> all;
    for (int i = 0; i < count; ++i) {
        all.push_back(selion::rpc(test.neighbour(std::uint32_t(i)), square, i));
    }
    for (int i = count; i-- > 0;) test.equal(all[std::size_t(i)].get(), i * i);
}

SPMD_TEST(rpc, exceptions_travel_to_the_caller) {
    auto fails = selion::rpc(
        test.neighbour(),
        [](int number) -> int { throw std::out_of_range("number " + std::to_string(number)); }, 5);
    try {
        fails.get();
        test.fail("an exception is expected");
    } catch (const selion::remote_error& trouble) {
        test.equal(trouble.type_name(), std::string("std::out_of_range"));
        test.that(std::string(trouble.what()).find("number 5") != std::string::npos, "its text");
        test.equal(*trouble.where().peer, std::uint32_t{test.neighbour()});
    }
}

SPMD_TEST(rpc, a_call_may_call_others) {
    // The neighbour asks its own neighbour; the answer comes back through both.
    const selion::rank_id next = test.neighbour();
    const selion::rank_id second = test.neighbour(2);
    auto far = selion::rpc(next, [second] {
        return selion::rpc(second, square, 6).then([](int value) { return value + 1; });
    });
    test.equal(far.get(), 37);
}

/// Where a rank's continuations run: from the deepest place in its stack to the highest.
struct stack_span {
    std::uintptr_t lowest = UINTPTR_MAX;
    std::uintptr_t highest = 0;
};

/// Answers of calls that wait for other calls, more than there is room for. They are not sent from
/// within each other.
SPMD_TEST(rpc, many_calls_whose_answers_come_later) {
    constexpr std::uint64_t shallow = 64 << 10;
    const spmd::symmetric_array<stack_span> spans(world, 1);
    const selion::rank_id second = test.neighbour(2);
    const selion::global_ptr<stack_span> there = spans.at(test.neighbour());
    *spans.own().local() = {};
    world.barrier();
    const auto ask_on = [second, there](int value) {
        return selion::rpc(second, square, value).then([there](int squared) {
            const auto here = reinterpret_cast<std::uintptr_t>(&squared);
            stack_span& seen = *there.local();
            seen = {std::min(seen.lowest, here), std::max(seen.highest, here)};
            return squared;
        });
    };
    const int count = static_cast<int>(test.rounds(1500, 60));
    std::vector<selion::future<int>> all;
    for (int i = 0; i < count; ++i) all.push_back(selion::rpc(test.neighbour(), ask_on, i));
    for (int i = count; i-- > 0;) test.equal(all[std::size_t(i)].get(), i * i);
    world.barrier();
    const bool has_one_stack = world.machine().capabilities.real_time &&
                               world.machine().processes == world.size() &&
                               world.progress() == selion::progress_kind::polling;
    const stack_span& seen = *spans.own().local();
    if (!has_one_stack) return;
    test.that(seen.lowest <= seen.highest, "continuations have run");
    test.that(seen.highest - seen.lowest < shallow, "the stack stays shallow");
}

SPMD_TEST(rpc, one_way_calls_arrive) {
    spmd::symmetric_array<selion::signal> arrived(world, 1);
    for (int i = 0; i < 10; ++i) {
        selion::rpc_oneway(
            test.neighbour(),
            [](selion::global_ptr<selion::signal> bell) {
                selion::notify(bell, selion::signal_add(1));
            },
            arrived.at(test.neighbour()));
    }
    selion::wait_until(arrived.own(), 10);
    world.barrier();
}

/// Calls with an answer, a few of them under way, and then more one-way calls than any machine has
/// room for; all take effect in the order in which they were made.
SPMD_TEST(rpc, asked_by_turns_and_then_told_at_length) {
    using selion::global_ptr;
    const spmd::symmetric_array<std::uint64_t> taken(world, 1);
    const selion::rank_id to = test.neighbour();
    const auto take = [](global_ptr<std::uint64_t> counter, std::uint64_t number) {
        std::uint64_t& count = *counter.local();
        if (count == number) ++count;
        return count;
    };
    std::uint64_t made = 0;
    for (const std::size_t at_once : {1, 2, 4, 5, 9}) {
        std::deque<selion::future<std::uint64_t>> under_way;
        for (int i = 0; i < 40; ++i) {
            if (under_way.size() == at_once) {
                test.equal(under_way.front().get(), made - at_once + 1);
                under_way.pop_front();
            }
            under_way.push_back(selion::rpc(to, take, taken.at(to), made++));
        }
        for (auto& one : under_way) one.wait();
        for (int i = 0; i < 600; ++i) selion::rpc_oneway(to, take, taken.at(to), made++);
        test.equal(selion::rpc(to, take, taken.at(to), made).get(), made + 1);
        ++made;
    }
    world.barrier();
    test.equal(*taken.mine(), made);
}

/// Whoever sends to a rank that computes is not held up by the messages of a conversation before.
SPMD_TEST(rpc, many_calls_leave_for_a_rank_that_computes) {
    const spmd::symmetric_array<std::uint64_t> cells(world, 2);
    const bool is_node = world.machine().kind == "threads" || world.machine().kind == "processes";
    if (!is_node || world.size() != 2 || world.machine().carriers != 2) {
        return test.skip("two ranks that run at the same time, and can write to each other");
    }
    constexpr std::uint64_t many = 400;
    const auto add = [](selion::global_ptr<std::uint64_t> sum) { ++*sum.local(); };
    const selion::rank_id other = 1 - world.rank();
    for (std::uint64_t start = 0; start < 12; ++start) {
        // From each place of a row on, in turn.
        for (std::uint64_t i = 0; i < start; ++i) {
            if (world.rank() == 0) selion::rpc(other, add, cells.at(other)).wait();
        }
        world.barrier();
        if (world.rank() == 0) {
            for (std::uint64_t i = 0; i < many; ++i)
                selion::rpc_oneway(other, add, cells.at(other));
            selion::atomic_put(cells.at(other, 1), start + 1);
        } else {
            while (selion::atomic_get(cells.at(world.rank(), 1)) != start + 1) {
            }
        }
        if (world.rank() == 0) selion::rpc(other, [] {}).wait();  // comes behind all of them
        world.barrier();
    }
    if (world.rank() == 1) test.equal(*cells.mine(), std::uint64_t{12 * many + 66});
    world.barrier();
}

SPMD_TEST(future, continuations_and_many) {
    auto first = selion::rpc(test.neighbour(), square, 3).then([](int v) { return v + 0.5; });
    auto second = selion::rpc(test.neighbour(2), [] {});
    auto third = selion::make_ready(std::string("here"));
    auto all = selion::when_all(std::move(first), std::move(second), std::move(third));
    auto text = std::move(all).then([](std::tuple<double, std::string> values) {
        return std::get<1>(values) + std::to_string(std::get<0>(values));
    });
    test.equal(text.get(), std::string("here9.500000"));
}

// Where messages interrupt, the parts are fulfilled while the rank still gathers them.
SPMD_TEST(future, many_are_gathered_while_they_are_fulfilled) {
    for (int i = 0; i < 50; ++i) {
        const auto call = [&](int far) { return selion::rpc(test.neighbour(far), square, i); };
        auto all = selion::when_all(call(1), call(2), call(3), call(1));
        const auto [a, b, c, d] = all.get();
        test.equal(a + b + c + d, 4 * i * i);
    }
}

SPMD_TEST(future, a_future_that_is_let_go_lets_its_call_go_on) {
    spmd::symmetric_array<selion::signal> arrived(world, 1);
    for (int i = 0; i < 200; ++i) {
        auto ignored = selion::rpc(
            test.neighbour(),
            [](selion::global_ptr<selion::signal> bell) {
                selion::notify(bell, selion::signal_add(1));
                return 1;
            },
            arrived.at(test.neighbour()));
    }
    selion::wait_until(arrived.own(), 200);
    world.barrier();
}

SPMD_TEST(future, an_empty_one_that_a_function_returns_is_an_exception_of_the_call) {
    auto answer = selion::rpc(test.neighbour(), [] { return selion::future<int>(); });
    try {
        static_cast<void>(answer.get());
        test.fail("an exception is expected");
    } catch (const selion::remote_error& trouble) {
        test.equal(std::string(trouble.what()).ends_with("has returned an empty future"), true);
    }
}

SPMD_TEST(future, an_exception_of_a_continuation_comes_out) {
    auto fails = selion::rpc(test.neighbour(), square, 3).then([](int value) -> int {
        throw std::runtime_error("after " + std::to_string(value));
    });
    try {
        fails.get();
        test.fail("an exception is expected");
    } catch (const std::runtime_error& trouble) {
        test.equal(std::string(trouble.what()), std::string("after 9"));
    }
}

}  // namespace
