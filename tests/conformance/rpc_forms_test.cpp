// SPDX-License-Identifier: Apache-2.0
/// What may be called and passed, and futures in unusual places.
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "conformance/spmd.hpp"

namespace {

int quick(int value) noexcept { return value + 1; }
int twice(int value) { return 2 * value; }
int apply(int (*function)(int), int value) { return function == nullptr ? -1 : function(value); }
int apply_quick(int (*function)(int) noexcept, int value) { return function(value); }

selion::arrival take_quickly(const std::uint64_t& address, selion::message_info) noexcept {
    selion::detail::count_together(
        *selion::detail::current_context,
        selion::counter_access::word(*reinterpret_cast<selion::counter*>(address)));
    return {};
}

SPMD_TEST(rpc_forms, functions_that_do_not_throw_and_functions_as_arguments) {
    const selion::rank_id to = test.neighbour();
    test.equal(selion::rpc(to, quick, 4).get(), 5);
    test.equal(selion::rpc(to, &quick, 5).get(), 6);
    test.equal(selion::rpc(to, apply, &twice, 21).get(), 42);
    test.equal(selion::rpc(to, apply, twice, 4).get(), 8);
    test.equal(selion::rpc(to, apply_quick, quick, 6).get(), 7);
    int (*const nothing)(int) = nullptr;
    test.equal(selion::rpc(to, apply, nothing, 1).get(), -1);
    // A handler of a message, to the rank itself: its counter is here.
    selion::counter came;
    selion::send(selion::rank_id(world.rank()), take_quickly,
                 reinterpret_cast<std::uint64_t>(&came));
    came.wait(1);
    world.barrier();
}

SPMD_TEST(rpc_forms, what_is_called_knows_where_it_runs) {
    test.equal(std::uint32_t{selion::this_rank()}, std::uint32_t{world.rank()});
    test.equal(selion::rank_count(), world.size());
    const auto there =
        selion::rpc(test.neighbour(), [] {
            return std::array{std::uint32_t{selion::this_rank()}, selion::rank_count()};
        }).get();
    test.equal(there[0], test.neighbour());
    test.equal(there[1], world.size());
    world.barrier();
}

struct reading {
    float value;
    std::uint16_t where[3];
    bool operator==(const reading&) const = default;
};

std::vector<std::uint32_t> counted(std::uint32_t from, std::size_t count) {
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), from);
    return all;
}

SPMD_TEST(rpc_forms, vectors_and_strings_are_results) {
    const selion::rank_id to = test.neighbour();
    const std::uint32_t largest = test.rounds(300'000, 5000);
    for (const std::uint32_t count : {0u, 1u, 2u, 7u, 1000u, largest}) {
        auto later = selion::rpc(to, counted, std::uint32_t{world.rank()}, std::size_t{count});
        test.that(later.get() == counted(world.rank(), count), "all of them came");
    }
    const auto name = [](std::uint32_t times) { return std::string(times, 'x') + "!"; };
    test.equal(selion::rpc(to, name, 0u).get(), std::string("!"));
    test.equal(selion::rpc(to, name, 3000u).get(), std::string(3000, 'x') + "!");
    const auto readings = [](std::span<const float> values) {
        std::vector<reading> all;
        for (const float value : values) {
            const auto i = static_cast<std::uint16_t>(all.size());
            all.push_back({value, {i, 7, static_cast<std::uint16_t>(i + 1)}});
        }
        return all;
    };
    const std::vector<float> given{0.5f, -1, 1e9f};
    const std::vector<reading> wanted = readings(given);
    test.that(selion::rpc(to, readings, given).get() == wanted, "as they were made");
    world.barrier();
}

SPMD_TEST(rpc_forms, rows_go_on_in_futures) {
    const selion::rank_id to = test.neighbour();
    auto sum =
        selion::rpc(to, counted, 1u, std::size_t{100}).then([](std::vector<std::uint32_t> all) {
            return std::accumulate(all.begin(), all.end(), 0u);
        });
    test.equal(sum.get(), 5050u);
    auto both = selion::when_all(selion::rpc(to, counted, 5u, std::size_t{3}),
                                 selion::rpc(to, [] { return std::string("word"); }));
    const auto [three, word] = both.get();
    test.that(three == counted(5, 3), "the first");
    test.equal(word, std::string("word"));
    // The function answers when what it waits for has come.
    const std::uint32_t back = world.rank();
    auto round = selion::rpc(
        to,
        [](std::uint32_t home) {
            return selion::rpc(selion::rank_id(home), counted, 9u, std::size_t{20});
        },
        back);
    test.that(round.get() == counted(9, 20), "from here to there and back");
    for (int i = 0; i < 10; ++i) {  // nobody looks at them
        static_cast<void>(selion::rpc(to, counted, 0u, std::size_t{5000}));
    }
    world.barrier();
}

SPMD_TEST(rpc_forms, a_row_that_is_too_long_is_told_to_its_caller) {
    const std::uint64_t most = selion::detail::most_message_bytes();
    if (most > (64u << 20)) return;  // simulated
    const auto make = [](std::uint64_t bytes) { return std::string(bytes, 'x'); };
    try {
        static_cast<void>(selion::rpc(test.neighbour(), make, most + 1).get());
        test.that(false, "it cannot come");
    } catch (const selion::remote_error& trouble) {
        test.equal(trouble.type_name(), std::string("selion::error"));
        test.that(
            std::string(trouble.what()).find("the function's result has") != std::string::npos,
            trouble.what());
    }
    test.equal(selion::rpc(test.neighbour(), make, most / 4).get().size(), std::size_t{most / 4});
    world.barrier();
}

SPMD_TEST(rpc_forms, texts_travel_with_what_they_show) {
    const auto length = [](std::string_view text) { return text.size() + 1000 * (text[0] == 'S'); };
    const std::string long_text(5000, 'S');
    for (const std::string& text : {std::string("Selion"), long_text}) {
        const std::string_view view(text);
        test.equal(selion::rpc(test.neighbour(), length, view).get(), text.size() + 1000);
    }
    const std::string_view part = std::string_view(long_text).substr(4000);
    const auto sum = [](std::span<const int> numbers) {
        return std::accumulate(numbers.begin(), numbers.end(), 0);
    };
    test.equal(selion::rpc(test.neighbour(), length, part).get(), std::size_t{2000});
    const std::initializer_list<int> few{1, 2, 3};
    test.equal(selion::rpc(test.neighbour(), sum, few).get(), 6);
    world.barrier();
}

SPMD_TEST(rpc_forms, strings_are_taken_as_texts_of_every_kind) {
    const selion::rank_id to = test.neighbour();
    const std::string named(3000, 'x');
    const auto of_view = [](std::string_view text) { return text.size(); };
    const auto of_string = [](const std::string& text) { return text + "!"; };
    const auto of_own = [](std::string text) { return text.append("?"); };
    const auto of_any = [](auto text) { return text.back(); };
    test.equal(selion::rpc(to, of_view, named).get(), std::size_t{3000});
    test.equal(selion::rpc(to, of_view, std::string()).get(), std::size_t{0});
    test.equal(selion::rpc(to, of_string, std::string("abc")).get(), std::string("abc!"));
    test.equal(selion::rpc(to, of_own, std::string("abc")).get(), std::string("abc?"));
    test.equal(selion::rpc(to, of_any, named).get(), 'x');
    const auto of_wide = [](const std::u16string& text, int at) { return text[std::size_t(at)]; };
    test.equal(selion::rpc(to, of_wide, std::u16string(u"abc"), 1).get(), u'b');
    world.barrier();
}

/// The length is the user's data: an exception, at whoever sends, and nothing has been sent.
SPMD_TEST(rpc_forms, what_is_too_long_is_an_exception) {
    const std::uint64_t most = selion::detail::most_message_bytes();
    if (most > (64u << 20)) return;  // simulated
    const selion::rank_id to = test.neighbour();
    const std::vector<char> data(most + 1);
    const auto size = [](std::span<const char> all) { return all.size(); };
    const auto refuses = [&](const char* call, const auto& make) {
        try {
            make();
            test.fail(call);
        } catch (const selion::error& trouble) {
            test.that(trouble.code() == selion::status::bad_argument, call);
            test.equal(trouble.where().operation, std::string(call));
            test.equal(trouble.where().peer.value_or(99), std::uint32_t{to});
            test.that(trouble.where().bytes > most, "their length");
            test.that(std::string(trouble.what()).starts_with(std::string(call) + ": a message of"),
                      trouble.what());
        }
    };
    refuses("rpc", [&] { static_cast<void>(selion::rpc(to, size, data)); });
    refuses("rpc_oneway", [&] { selion::rpc_oneway(to, size, data); });
    refuses("send", [&] {
        const auto shrug = [](const int&, selion::message_info) { return selion::arrival{}; };
        selion::send(to, shrug, 1, std::as_bytes(std::span(data)));
    });
    const std::span<const char> half(data.data(), data.size() / 2);
    test.equal(selion::rpc(to, size, half).get(), half.size());  // and all goes on
    world.barrier();
}

SPMD_TEST(rpc_forms, arrays_of_c_travel_with_their_elements) {
    const auto sum = [](std::span<const int> numbers) {
        return std::accumulate(numbers.begin(), numbers.end(), 0);
    };
    const int three[] = {1, 2, 3};
    int many[1000];
    std::iota(many, many + 1000, 0);
    test.equal(selion::rpc(test.neighbour(), sum, three).get(), 6);
    test.equal(selion::rpc(test.neighbour(), sum, many).get(), 999 * 500);
    char word[4] = {'a', 'b', 'c', 'd'};
    const auto last = [](std::span<const char> letters) { return letters.back(); };
    test.equal(selion::rpc(test.neighbour(), last, word).get(), 'd');
    world.barrier();
}

SPMD_TEST(rpc_forms, time_limits_may_be_longer_than_can_be_counted) {
    const auto never = selion::allocate<selion::signal>(world, 1);
    selion::notify(never.on(world.rank()), selion::signal_set(1));
    using for_ever = std::chrono::duration<double>;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    test.that(selion::wait_until(never, 1, std::chrono::hours::max()), "it is there");
    test.that(selion::wait_until(never, 1, for_ever(infinity)), "it is there");
    test.that(!selion::wait_until(never, 2, for_ever(-infinity)), "no time");
    test.that(!selion::wait_until(never, 2, std::chrono::hours::min()), "no time");
    test.that(!selion::wait_until(never, 2, for_ever(std::nan(""))), "no time");
    test.that(selion::rpc(test.neighbour(), twice, 2).wait(std::chrono::hours::max()), "answered");
    test.that(selion::rpc(test.neighbour(), twice, 2).wait(for_ever(infinity)), "answered");
    selion::counter comes;
    const auto cell = selion::allocate<int>(world, 1);
    selion::put(cell.on(world.rank()), 1, comes);
    test.that(comes.wait(1, std::chrono::years::max()), "counted");
    for (const selion::team& patient :
         {world.with_timeout(std::chrono::hours::max()), world.with_timeout(for_ever(infinity))}) {
        test.equal(patient.all_reduce(1u, selion::plus), world.size());
    }
    world.barrier();
    selion::deallocate(world, cell);
    selion::deallocate(world, never);
}

SPMD_TEST(rpc_forms, a_future_is_empty_once_it_has_been_given_away) {
    auto held = selion::make_ready(std::vector<int>{1, 2, 3});
    auto moved = std::move(held);
    test.that(!held.is_valid() && !held.is_ready(), "what was moved from is empty");
    auto size = std::move(moved).then([](const std::vector<int>& all) { return all.size(); });
    test.that(!moved.is_valid(), "its value went on");
    test.equal(size.get(), std::size_t{3});
    auto added = selion::rpc(selion::rank_id(world.rank()), twice, 1)
                     .then([kept = std::make_unique<int>(40)](int value) { return value + *kept; });
    test.equal(added.get(), 42);  // a function that can only be moved
    world.barrier();
}

SPMD_TEST(rpc_forms, a_chain_may_have_any_length) {
    constexpr int links = 20'000;
    auto last = selion::rpc(test.neighbour(), twice, 0);
    for (int i = 0; i < links; ++i)
        last = std::move(last).then([](int value) { return value + 1; });
    test.equal(last.get(), links);
    world.barrier();
}

/// Where another thread than the rank's own takes the answer, it runs what follows, too.
SPMD_TEST(rpc_forms, a_chain_of_any_length_may_be_run_by_the_notification_thread) {
    if (world.progress() != selion::progress_kind::interrupt ||
        !world.machine().capabilities.real_time)
        return;
    const auto links = static_cast<int>(test.rounds(200'000));
    // The chain comes first; but one thread serves all ranks of a process, and sleeps for each.
    const int sleep_ms = static_cast<int>(test.rounds(600));
    auto last = selion::rpc(
        test.neighbour(),
        [](int ms) {
            std::this_thread::sleep_for(std::chrono::milliseconds(ms));
            return 0;
        },
        sleep_ms);
    for (int i = 0; i < links; ++i)
        last = std::move(last).then([](int value) { return value + 1; });
    for (int i = 0; i < 5000 && !last.is_ready(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    test.equal(last.get(), links);
    world.barrier();
}

SPMD_TEST(rpc_forms, a_loop_of_tests_comes_to_its_end) {
    auto answer = selion::rpc(test.neighbour(), twice, 21);
    while (!answer.test()) {
    }
    test.equal(answer.get(), 42);
    world.barrier();
}

SPMD_TEST(rpc_forms, a_job_may_end_while_futures_wait_for_each_other) {
    auto here = selion::rpc(selion::rank_id(world.rank()), twice, 1);
    here.wait();
    auto both = selion::when_all(selion::rpc(test.neighbour(), twice, 2), std::move(here));
    test.that(both.is_valid(), "it may be let go");
    world.barrier();
}

/// Messages that come all the time are no reason to wait longer.
SPMD_TEST(rpc_forms, a_time_out_passes_while_messages_come) {
    if (world.size() < 2 || !world.machine().capabilities.real_time) return;
    const auto over = selion::allocate<selion::signal>(world, 1);
    const auto never = selion::allocate<selion::signal>(world, 1);
    world.barrier();
    if (world.rank() == 0) {
        const std::int64_t start_ns = world.now();
        test.that(!selion::wait_until(never, 1, std::chrono::milliseconds(50)), "nothing came");
        const std::int64_t taken_ns = world.now() - start_ns;
        selion::notify(over.on(1), selion::signal_set(1));
        // The sender goes on for a minute, unless it is told.
        test.that(taken_ns < 30'000'000'000, "the wait has ended in time");
    }
    if (world.rank() == 1) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!selion::wait_until(over, 1, std::chrono::nanoseconds(1)) &&
               std::chrono::steady_clock::now() < end) {
            selion::rpc_oneway(0, [] {
                const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
                while (std::chrono::steady_clock::now() < until) {
                }
            });
        }
    }
    world.barrier();
    selion::deallocate(world, never);
    selion::deallocate(world, over);
}

/// Ways that use the same memory for other things, one after the other.
SPMD_TEST(rpc_forms, ways_of_collectives_do_not_disturb_each_other) {
    using enum selion::collective_kind;
    constexpr std::size_t count = 1000;
    const std::uint32_t ranks = world.size();
    world.choose(all_reduce, selion::choice_of("messages:k_nomial:2"));
    world.choose(all_gather, selion::choice_of("slots"));
    std::vector<std::uint32_t> own(count);
    std::vector<std::uint32_t> all(count * ranks);
    std::vector<std::uint32_t> most(count);
    std::size_t wrong = 0;
    for (std::uint32_t round = 0; round < test.rounds(100, 3); ++round) {
        std::ranges::fill(own, round * 1000 + world.rank());
        world.all_gather(std::span<const std::uint32_t>(own), std::span(all));
        std::ranges::fill(most, 0xEEEE0000u);
        world.all_reduce(std::span(most), selion::maximum);
        for (std::size_t i = 0; i < all.size(); ++i) wrong += all[i] != round * 1000 + i / count;
    }
    world.choose(all_reduce, std::nullopt);
    world.choose(all_gather, std::nullopt);
    test.equal(wrong, std::size_t{0});
}

}  // namespace
