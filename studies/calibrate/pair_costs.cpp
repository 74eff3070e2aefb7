// SPDX-License-Identifier: Apache-2.0
#include "pair_costs.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>

namespace calibrate {
namespace {

/// Alone in its pair of lines: processors fetch two at a time.
struct alignas(128) flag_line {
    std::uint64_t word = 0;
};

void raise(flag_line& flag, std::uint64_t value) {
    std::atomic_ref(flag.word).store(value, std::memory_order_release);
}

/// Spins as Selion's waits begin.
void await(flag_line& flag, std::uint64_t value) {
    while (std::atomic_ref(flag.word).load(std::memory_order_acquire) < value) {
        pause_processor();
    }
}

/// Runs both halves at the same time, each on its core, the second one on the calling thread.
template <class Writer, class Reader>
void run_pair(const core_pair& pair, Writer writer, Reader reader) {
    bind_to(pair.reader);  // fails, if at all, before anybody waits
    std::jthread other([&] {
        bind_to(pair.writer);
        writer();
    });
    reader();
}

constexpr std::uint64_t chain_lines = 256;

/// Appends the time of one load, for each of `rounds` walks through lines that the other core has
/// just written. Each line names the next one, in random order, so that no two loads overlap.
void walk_changed_lines(const core_pair& pair, std::size_t rounds, std::vector<double>& samples) {
    std::vector<flag_line> chain(chain_lines);
    std::array<flag_line, 2> flags;
    std::vector<std::uint64_t> order(chain_lines);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin() + 1, order.end(), std::mt19937_64(1));
    const auto write = [&] {
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            await(flags[0], round);
            for (std::uint64_t k = 0; k < chain_lines; ++k) {
                chain[order[k]].word = order[(k + 1) % chain_lines];
            }
            raise(flags[1], round);
        }
    };
    const auto read = [&] {
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            raise(flags[0], round);
            await(flags[1], round);
            const std::int64_t start = now_ns();
            std::uint64_t at = 0;
            for (std::uint64_t k = 0; k < chain_lines; ++k) at = chain[at].word;
            consume(at);
            samples.push_back(static_cast<double>(now_ns() - start) / chain_lines);
        }
    };
    run_pair(pair, write, read);
}

constexpr std::uint64_t turns_per_block = 64;

/// Appends half the time of a round trip, for each of `rounds` blocks of them.
void pass_flags(const core_pair& pair, std::size_t rounds, std::vector<double>& samples) {
    std::array<flag_line, 2> flags;
    const std::uint64_t turns = rounds * turns_per_block;
    const auto answer = [&] {
        for (std::uint64_t turn = 1; turn <= turns; ++turn) {
            await(flags[0], turn);
            raise(flags[1], turn);
        }
    };
    const auto ask = [&] {
        std::uint64_t turn = 0;
        for (std::size_t round = 0; round < rounds; ++round) {
            const std::int64_t start = now_ns();
            for (std::uint64_t k = 0; k < turns_per_block; ++k) {
                raise(flags[0], ++turn);
                await(flags[1], turn);
            }
            samples.push_back(static_cast<double>(now_ns() - start) / (2.0 * turns_per_block));
        }
    };
    run_pair(pair, answer, ask);
}

template <class Measure>
study::spread measure_pairs(const effort& how, const std::vector<core_pair>& pairs,
                            Measure measure) {
    std::vector<double> samples;
    for (const core_pair& pair : pairs) {
        std::vector<double> warm_up;
        measure(pair, 10, warm_up);
        measure(pair, how.samples, samples);
    }
    return study::spread_of(samples);
}

}  // namespace

std::vector<core_pair> pairs_of(const std::vector<host_core>& cores, bool share_a_cache,
                                std::size_t most) {
    std::vector<core_pair> all;
    for (std::size_t i = 1; i < cores.size(); ++i) {
        if ((cores[i].cache == cores[0].cache) == share_a_cache) {
            all.push_back({cores[0], cores[i]});
        }
    }
    if (all.size() <= most) return all;
    std::vector<core_pair> chosen;
    for (std::size_t i = 0; i < most; ++i) chosen.push_back(all[i * all.size() / most]);
    return chosen;
}

study::spread crossing_ns(const effort& how, const std::vector<core_pair>& pairs) {
    return measure_pairs(how, pairs, walk_changed_lines);
}

study::spread flag_ns(const effort& how, const std::vector<core_pair>& pairs) {
    return measure_pairs(how, pairs, pass_flags);
}

}  // namespace calibrate
