// SPDX-License-Identifier: Apache-2.0
#include "harness/contest.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <random>
#include <utility>

namespace bench {
namespace {

constexpr std::uint64_t most_iterations = std::uint64_t{1} << 20;

/// A contestant with what is known of it.
struct entry {
    const contest* of;
    const contestant* who;
    std::uint64_t count = 1;  ///< iterations of a block
    double least_ns = 0;      ///< of this round's blocks
    std::vector<double> rounds = {};
};

/// A contest with what is known of it.
struct game {
    std::vector<entry> entries;
    std::vector<double> signal_ns = {};  ///< of each round, where the contest crosses cores
};

/// Time of one block, the same on every rank.
std::int64_t time_block(selion::world& world, const loop& run, std::uint64_t count) {
    world.barrier();
    return world.all_reduce(run(count), selion::maximum);
}

/// The least of a few blocks: one that was interrupted says nothing.
std::int64_t quickest_block(selion::world& world, const loop& run, std::uint64_t count) {
    std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 5; ++i) least_ns = std::min(least_ns, time_block(world, run, count));
    return least_ns;
}

/// Iterations that take about as long as a block shall.
std::uint64_t filling_count(selion::world& world, const loop& run, const settings& how) {
    std::uint64_t count = 1;
    while (count < most_iterations && quickest_block(world, run, count) < how.block_ns) count *= 2;
    return count;
}

/// Twice: who is tried first touches memory for the first time, and would get short blocks, in
/// which the way in and out weighs more.
void choose_count(selion::world& world, entry& one, const settings& how) {
    one.count = how.iterations;
    for (int i = 0; i < 2 && how.iterations == 0; ++i) {
        one.count = filling_count(world, one.who->run, how);
    }
}

/// After the round that warms up. A count that was chosen while something else ran may be far too
/// small: the way in and out would weigh, and a stream would be a single call.
void lengthen(entry& one, const settings& how) {
    if (how.iterations != 0 || one.least_ns <= 0) return;
    const double count_ns = one.least_ns * one.of->operations_per_count;
    const double filling = static_cast<double>(how.block_ns) / count_ns;
    if (filling < 2 * static_cast<double>(one.count)) return;
    one.count = static_cast<std::uint64_t>(std::min(filling, static_cast<double>(most_iterations)));
}

std::vector<game> games_of(const std::vector<contest>& contests, const std::string& only) {
    std::vector<game> all;
    for (const contest& one : contests) {
        if (one.operation.find(only) == std::string::npos) continue;
        all.emplace_back();
        for (const contestant& who : one.contestants) all.back().entries.push_back({&one, &who});
    }
    return all;
}

/// One number for each contestant: the least of its blocks, which take turns in random order.
void play(selion::world& world, std::vector<entry>& entries, std::uint32_t blocks,
          std::mt19937_64& random) {
    std::vector<entry*> turns;
    for (entry& one : entries) {
        one.least_ns = std::numeric_limits<double>::max();
        turns.insert(turns.end(), blocks, &one);
    }
    std::shuffle(turns.begin(), turns.end(), random);
    for (entry* one : turns) {
        const std::int64_t ns = time_block(world, one->who->run, one->count);
        const double operations = static_cast<double>(one->count) * one->of->operations_per_count;
        one->least_ns = std::min(one->least_ns, static_cast<double>(ns) / operations);
    }
}

/// Nanoseconds of a signal, the same on every rank.
double ask(selion::world& world, const loop& probe) {
    constexpr std::uint64_t signals = 128;
    return static_cast<double>(quickest_block(world, probe, signals)) / signals;
}

/// Plays a round of a contest, again while the cores move apart or together meanwhile.
void play_steadily(selion::world& world, game& one, const loop& probe, const settings& how,
                   std::mt19937_64& random) {
    constexpr int most_tries = 5;
    constexpr double same = 1.4;
    for (int i = 0; i < most_tries; ++i) {
        const double before_ns = ask(world, probe);
        play(world, one.entries, how.blocks, random);
        const double after_ns = ask(world, probe);
        if (before_ns < after_ns * same && after_ns < before_ns * same) {
            one.signal_ns.push_back(before_ns);
            for (entry& each : one.entries) each.rounds.push_back(each.least_ns);
            return;
        }
    }
}

void play_round(selion::world& world, game& one, const loop& probe, const settings& how,
                std::mt19937_64& random) {
    if (one.entries.front().of->crosses_cores) {
        play_steadily(world, one, probe, how, random);
        return;
    }
    play(world, one.entries, how.blocks, random);
    for (entry& each : one.entries) each.rounds.push_back(each.least_ns);
}

/// Whether the calling thread has one processor to itself by order.
bool is_bound() {
    cpu_set_t processors;
    return sched_getaffinity(0, sizeof processors, &processors) == 0 && CPU_COUNT(&processors) == 1;
}

void print_list(const char* key, const std::vector<double>& numbers) {
    std::printf(", \"%s\": [", key);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        std::printf("%s%.3f", i == 0 ? "" : ", ", numbers[i]);
    }
    std::printf("]");
}

void print(const selion::world& world, const game& one) {
    for (const entry& each : one.entries) {
        std::printf("{\"operation\": \"%s\", \"machine\": \"%s\", \"contestant\": \"%s\"",
                    each.of->operation.c_str(), world.machine().spec.c_str(),
                    each.who->name.c_str());
        std::printf(", \"is_selion\": %s, \"is_bound\": %s, \"block_iterations\": %llu",
                    &each == &one.entries.front() ? "true" : "false", is_bound() ? "true" : "false",
                    static_cast<unsigned long long>(each.count));
        print_list("ns", each.rounds);
        if (each.of->crosses_cores) print_list("signal_ns", one.signal_ns);
        std::printf("}\n");
    }
}

}  // namespace

void measure(selion::world& world, const std::vector<contest>& contests, const loop& probe,
             const settings& how) {
    std::vector<game> all = games_of(contests, how.only);
    std::mt19937_64 random(how.seed);  // equal on all ranks, so that they agree on the order
    for (game& one : all) {
        for (entry& each : one.entries) choose_count(world, each, how);
    }
    std::vector<game*> order;
    for (game& one : all) order.push_back(&one);
    for (std::uint32_t round = 0; round <= how.rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (game* one : order) play_round(world, *one, probe, how, random);
        if (round > 0) continue;
        for (game& one : all) {  // the first round warms up
            one.signal_ns.clear();
            for (entry& each : one.entries) {
                each.rounds.clear();
                lengthen(each, how);
            }
        }
    }
    if (world.rank() != 0) return;
    for (const game& one : all) print(world, one);
}

}  // namespace bench
