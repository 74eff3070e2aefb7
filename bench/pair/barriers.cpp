// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>

#include "pair/bare.hpp"
#include "pair/contests.hpp"

namespace bench {
namespace {

/// Both ranks raise one counter that is never reset.
template <bare::between_looks Between>
loop counter_barrier(const selion::world& world) {
    const auto line = selion::allocate<bare::flag_line>(world, 1).on(0);
    std::uint64_t* const counter = &line.local()->flag;
    return on_all([=, goal = std::uint64_t{0}](std::uint64_t count) mutable {
        for (std::uint64_t i = 0; i < count; ++i) {
            goal += 2;
            const std::uint64_t before =
                std::atomic_ref(*counter).fetch_add(1, std::memory_order_acq_rel);
            if (before + 1 != goal) bare::await<Between>(*counter, goal);
        }
    });
}

/// Each rank raises a flag in the other's line and waits for its own.
template <bare::between_looks Between>
loop flag_barrier(const selion::world& world) {
    const auto lines = selion::allocate<bare::flag_line>(world, 1);
    std::uint64_t* const own = &lines.local()->flag;
    std::uint64_t* const other = &lines.on(1 - world.rank()).local()->flag;
    return on_all([=, turn = std::uint64_t{0}](std::uint64_t count) mutable {
        for (std::uint64_t i = 0; i < count; ++i) {
            bare::raise(*other, ++turn);
            bare::await<Between>(*own, turn);
        }
    });
}

/// One rank raises a flag in the other's line, and takes its turn to wait.
loop alternating_signal(const selion::world& world) {
    const auto lines = selion::allocate<bare::flag_line>(world, 1);
    std::uint64_t* const own = &lines.local()->flag;
    std::uint64_t* const other = &lines.on(1 - world.rank()).local()->flag;
    return on_all(
        [=, starts = world.rank() == 0, turn = std::uint64_t{0}](std::uint64_t count) mutable {
            for (std::uint64_t i = 0; i < count; ++i, ++turn) {
                if (starts == (turn % 2 == 0)) {
                    bare::raise(*other, turn / 2 + 1);
                } else {
                    bare::await(*own, turn / 2 + 1);
                }
            }
        });
}

}  // namespace

contest barrier_contest(selion::world& world, one_process* shared) {
    contest all{"barrier", {}, 1, true};
    all.contestants.push_back({"selion", on_all([&world](std::uint64_t count) {
                                   for (std::uint64_t i = 0; i < count; ++i) world.barrier();
                               })});
    using enum bare::between_looks;
    all.contestants.push_back({"bare counter", counter_barrier<nothing>(world)});
    all.contestants.push_back({"bare counter, pause", counter_barrier<pause>(world)});
    all.contestants.push_back({"bare flag each", flag_barrier<nothing>(world)});
    all.contestants.push_back({"bare flag each, pause", flag_barrier<pause>(world)});
    if (shared == nullptr) return all;
    all.contestants.push_back({"std::barrier", on_all([shared](std::uint64_t count) {
                                   for (std::uint64_t i = 0; i < count; ++i) {
                                       shared->standard.arrive_and_wait();
                                   }
                               })});
    if (const loop openmp = openmp_barrier(world, *shared)) {
        all.contestants.push_back({"libgomp", openmp});
    }
    return all;
}

std::vector<contest> collective_contests(selion::world& world) {
    const auto reduce = [&world](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) consume(world.all_reduce(i, selion::plus));
    };
    const auto spread = [&world](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) consume(world.broadcast(i, i % 2));
    };
    std::vector<contest> all;
    all.push_back({"all_reduce 8 B",
                   {{"selion", on_all(reduce)}, {"bare signal", alternating_signal(world)}},
                   1,
                   true});
    all.push_back({"broadcast 8 B, rotating root",
                   {{"selion", on_all(spread)}, {"bare signal", alternating_signal(world)}},
                   1,
                   true});
    return all;
}

}  // namespace bench
