// SPDX-License-Identifier: Apache-2.0
#include "measuring.hpp"

#include <algorithm>
#include <cstdio>

#include <selion/charge.hpp>
#include <selion/message.hpp>
#include <selion/reduction.hpp>

namespace multicore {
namespace {

/// Caches, and lines that take turns, are then as they stay.
constexpr std::uint32_t warm_up_calls = 8;
constexpr std::uint32_t virtual_calls = 24;
constexpr std::uint32_t few_virtual_calls = 8;
constexpr std::uint32_t many_ranks = 256;

/// Of all calls together. All ranks get the same answer.
double block_us(const selion::world& world, const repeated_call& call, std::uint32_t calls) {
    world.barrier();
    const std::int64_t begun_ps = world.now_ps();
    for (std::uint32_t turn = 0; turn < calls; ++turn) call(turn);
    const std::int64_t ended_ps = world.now_ps();
    const std::int64_t last_begun_ps = world.all_reduce(begun_ps, selion::maximum);
    const std::int64_t last_ended_ps = world.all_reduce(ended_ps, selion::maximum);
    return static_cast<double>(last_ended_ps - last_begun_ps) / 1e6;
}

/// Calls of a block, after some that warm up.
std::uint32_t calls_of_block(const selion::world& world, const repeated_call& call) {
    if (!world.machine().capabilities.real_time) {
        const bool is_large = world.size() > many_ranks;
        block_us(world, call, is_large ? 1 : warm_up_calls);
        return is_large ? few_virtual_calls : virtual_calls;
    }
    constexpr double least_us = 200;
    constexpr std::uint32_t most_calls = 1 << 16;
    std::uint32_t calls = warm_up_calls;
    while (calls < most_calls && block_us(world, call, calls) < least_us) calls *= 2;
    return calls;
}

/// In virtual time: all ranks go on at once, when nothing is under way any more.
std::int64_t start_together(const selion::world& world) {
    constexpr std::int64_t long_ps = 10'000'000'000;
    world.barrier();
    const std::int64_t start_ps = world.all_reduce(world.now_ps(), selion::maximum) + 2 * long_ps;
    selion::charge({.picoseconds = start_ps - long_ps - world.now_ps()});
    selion::progress();  // what came meanwhile
    selion::charge({.picoseconds = start_ps - world.now_ps()});
    return start_ps;
}

/// Whether there are enough, which on a busy host are few. All ranks get the same answer.
bool are_enough(const selion::world& world, const std::vector<double>& samples, double spent_us) {
    constexpr std::size_t most = 51;
    constexpr std::size_t fewest = 7;
    constexpr double most_us = 500'000;
    if (!world.machine().capabilities.real_time) return !samples.empty();
    return samples.size() == most || (samples.size() >= fewest && spent_us > most_us);
}

}  // namespace

std::vector<double> time_calls(const selion::world& world, const repeated_call& call) {
    const std::uint32_t calls = calls_of_block(world, call);
    std::vector<double> each;
    double spent_us = 0;
    while (!are_enough(world, each, spent_us)) {
        const double us = block_us(world, call, calls);
        spent_us += us;
        each.push_back(us / calls);
    }
    return each;
}

std::vector<double> time_apart(const selion::world& world, const repeated_call& call) {
    if (world.machine().capabilities.real_time) return time_calls(world, call);
    const bool is_large = world.size() > many_ranks;
    const std::uint32_t warm_up = is_large ? 1 : 4;
    const std::uint32_t measured = is_large ? 1 : 7;
    std::vector<double> each;
    for (std::uint32_t turn = 0; turn < warm_up + measured; ++turn) {
        const std::int64_t start_ps = start_together(world);
        call(turn);
        const std::int64_t end_ps = world.all_reduce(world.now_ps(), selion::maximum);
        if (turn >= warm_up) each.push_back(static_cast<double>(end_ps - start_ps) / 1e6);
    }
    return each;
}

std::vector<double> time_difference(const selion::world& world, const repeated_call& call,
                                    const repeated_call& less) {
    const std::uint32_t calls = calls_of_block(world, call);
    calls_of_block(world, less);
    std::vector<double> each;
    double spent_us = 0;
    while (!are_enough(world, each, spent_us)) {
        const double with_us = block_us(world, call, calls);
        const double less_us = block_us(world, less, calls);
        spent_us += with_us + less_us;
        each.push_back((with_us - less_us) / calls);
    }
    return each;
}

double median(const std::vector<double>& samples) { return study::spread_of(samples).median; }

void print_figure(const selion::world& world, const study::row_frame& frame,
                  const study::measurement& what, const std::vector<double>& samples) {
    if (world.rank() != 0) return;
    if (world.machine().capabilities.real_time) {
        study::print_row(frame, what, study::spread_of(samples));
    } else {
        study::print_row(frame, what, study::detail::rounded(median(samples)));
    }
}

void print_value(const selion::world& world, const study::row_frame& frame,
                 const study::measurement& what, double value) {
    if (world.rank() == 0) study::print_row(frame, what, study::detail::rounded(value));
}

void print_skip(const selion::world& world, const std::string& reason) {
    if (world.rank() != 0) return;
    std::printf("%s\n", nlohmann::json{{"skipped", reason}}.dump().c_str());
}

}  // namespace multicore
