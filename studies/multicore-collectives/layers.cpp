// SPDX-License-Identifier: Apache-2.0
#include "layers.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace multicore {
namespace {

using enum selion::collective_kind;
using selion::collective_choice;
using selion::collective_way;
using selion::schedule_algorithm;

/// Up to so many bytes for each pair an exchange of MPICH2 is Bruck's, and then pairwise.
constexpr std::uint64_t short_block_bytes = 256;

}  // namespace

layered_call::layered_call(const selion::world& world, const subject& what)
    : world_(world),
      process_(world.split(selion::locality::process)),
      peers_(world.split(process_.rank())),
      what_(what) {
    const std::uint64_t blocks = what.what == exchange ? world.size() : 1;
    own_ = shared_doubles(world, what.bytes / sizeof(double) * blocks);
    if (what.what == exchange) {
        others_ = shared_doubles(world, own_.size());
        gathered_ = shared_doubles(world, own_.size() * threads());
        packed_ = shared_doubles(world, own_.size() * threads());
    }
    choose();
}

void layered_call::choose() const {
    for (const auto what : {broadcast, reduce, gather, scatter, exchange}) {
        process_.choose(what, choice_of(what, collective_way::lines, flat));
    }
    if (what_.bytes <= flag_bytes) {
        for (const auto what : {broadcast, reduce}) {
            process_.choose(what, collective_choice{collective_way::board, {}});
        }
    }
    // Processes of a real host share their segments, and need no messages.
    if (world_.machine().capabilities.real_time) return;
    peers_.choose(broadcast, choice_of(broadcast, collective_way::messages, 2));
    peers_.choose(all_reduce,
                  collective_choice{collective_way::messages,
                                    {.algorithm = schedule_algorithm::recursive_doubling}});
    const bool is_short = what_.bytes * threads() * threads() <= short_block_bytes;
    peers_.choose(exchange,
                  collective_choice{collective_way::messages,
                                    {.algorithm = is_short ? schedule_algorithm::bruck
                                                           : schedule_algorithm::pairwise}});
}

/// Up to the leader, among the leaders, and down again.
void layered_call::run() const {
    if (what_.what == exchange) return run_exchange();
    char token = 0;
    const std::span<char> arrival(&token, 1);
    switch (what_.what) {
        case barrier:
            process_.reduce(arrival, selion::plus, 0);
            if (leads() && processes() > 1) peers_.barrier();
            return process_.broadcast(arrival, 0);
        case broadcast:
            if (leads() && processes() > 1) peers_.broadcast(own_, 0);
            return process_.broadcast(own_, 0);
        default:
            process_.reduce(own_, selion::plus, 0);
            if (leads() && processes() > 1) peers_.all_reduce(own_, selion::plus);
            process_.broadcast(own_, 0);
    }
}

std::span<double> layered_call::block(std::span<double> all, std::uint32_t number) const {
    const std::size_t length = what_.bytes / sizeof(double);
    return all.subspan(number * length, length);
}

/// Blocks of a leader are sorted by process and thread they go to when it has gathered them, and
/// by thread, process and thread they come from when it scatters them.
void layered_call::run_exchange() const {
    if (processes() == 1) return process_.exchange(own_, others_);
    if (threads() == 1) return peers_.exchange(own_, others_);
    process_.gather(own_, gathered_, 0);
    if (leads()) {
        const std::uint32_t ranks = world_.size();
        const auto copy = [&](std::uint32_t to, std::uint32_t from) {
            std::ranges::copy(block(gathered_, from), block(packed_, to).begin());
        };
        std::uint32_t to = 0;
        for (std::uint32_t process = 0; process < processes(); ++process) {
            for (std::uint32_t from = 0; from < threads(); ++from) {
                const std::uint32_t first = from * ranks + process * threads();
                for (std::uint32_t i = 0; i < threads(); ++i) copy(to++, first + i);
            }
        }
        selion::charge(selion::copied(packed_.size_bytes()));
        peers_.exchange(packed_, gathered_);
        for (std::uint32_t from = 0; from < ranks; ++from) {
            for (std::uint32_t thread = 0; thread < threads(); ++thread) {
                copy(thread * ranks + from, from * threads() + thread);
            }
        }
        selion::charge(selion::copied(packed_.size_bytes()));
    }
    process_.scatter(packed_, others_, 0);
}

void layered_call::expect_right_result() const {
    const std::uint32_t ranks = world_.size();
    const double rank = world_.rank();
    const auto expect = [](bool is_right) {
        if (!is_right) throw std::logic_error("a collective in layers has a wrong result");
    };
    if (what_.what == broadcast || what_.what == all_reduce) std::ranges::fill(own_, rank);
    for (std::uint32_t to = 0; what_.what == exchange && to < ranks; ++to) {
        std::ranges::fill(block(own_, to), rank * ranks + to);
    }
    run();
    const double sum = ranks * (ranks - 1.0) / 2;
    if (what_.what == broadcast) expect(own_.back() == 0);
    if (what_.what == all_reduce) expect(own_.back() == sum);
    for (std::uint32_t from = 0; what_.what == exchange && from < ranks; ++from) {
        expect(block(others_, from).back() == static_cast<double>(from) * ranks + rank);
    }
    world_.barrier();
    std::ranges::fill(own_, 0.0);
}

measurement read_layers(const nlohmann::ordered_json& params) {
    const subject what = read_subject(params);
    const auto processes = study::parameter<std::uint64_t>(params, "processes");
    const auto threads = study::parameter<std::uint64_t>(params, "threads");
    return [=](selion::world& world, const study::row_frame& frame) {
        const layered_call call(world, what);
        if (call.processes() != processes || call.threads() != threads) {
            return print_skip(world, world.machine().spec + " has " +
                                         std::to_string(call.processes()) + " processes of " +
                                         std::to_string(call.threads()) + " threads");
        }
        call.expect_right_result();
        print_figure(world, frame, {"latency_us", "us"},
                     time_apart(world, [&](std::uint32_t) { call.run(); }));
    };
}

}  // namespace multicore
