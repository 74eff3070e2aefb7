// SPDX-License-Identifier: Apache-2.0
/// Laws of a bus, on random programs of a master and its boards.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "machine/sim/wires/bus_network.hpp"
#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

/// One step of a rank. Boards await the next signal of the master, which sends as many.
struct step {
    enum kind_of_step { compute, put, get, await, get_of_other } kind = compute;
    std::uint32_t board = 1;  ///< for the master: whom; for `get_of_other`: whose memory
    ticks time = 0;
    std::uint64_t bytes = 0;
};

struct program {
    machine_model model;
    std::vector<std::vector<step>> steps;  ///< of each rank
};

step random_step(std::uint32_t rank, std::uint32_t boards) {
    step made;
    made.kind =
        *rc::gen::element(step::compute, step::put, step::get, step::await, step::get_of_other);
    made.board = *rc::gen::inRange(1u, boards + 1);
    if (rank == 0 && (made.kind == step::await || made.kind == step::get_of_other)) {
        made.kind = step::put;
    }
    made.time = *rc::gen::inRange<ticks>(0, 300);
    made.bytes = *rc::gen::inRange<std::uint64_t>(0, 40);
    return made;
}

program random_program() {
    program made;
    const auto boards = *rc::gen::inRange(1u, 6u);
    made.model = free_model(boards + 1, network_kind::bus);
    bus_model& bus = made.model.bus;
    bus.setup = *rc::gen::inRange<ticks>(0, 20);
    bus.write_per_byte = rate::from_ticks(*rc::gen::inRange(0, 5));
    bus.read_per_byte = rate::from_ticks(*rc::gen::inRange(0, 5));
    bus.has_dma = *rc::gen::arbitrary<bool>();
    set_costs(made.model, {.origin = *rc::gen::inRange<ticks>(0, 10),
                           .target = *rc::gen::inRange<ticks>(0, 10)});
    made.steps.resize(boards + 1);
    for (std::uint32_t rank = 0; rank <= boards; ++rank) {
        const auto count = *rc::gen::inRange(0, 12);
        for (int i = 0; i < count; ++i) made.steps[rank].push_back(random_step(rank, boards));
    }
    return made;
}

struct period {
    ticks start;
    ticks end;
};

struct outcome {
    std::vector<bus_transfer> transfers;
    std::vector<std::vector<period>> computed;  ///< of each rank
    std::vector<std::uint64_t> offered;         ///< signals that each board awaits
    ticks end = 0;
    link_use use;
};

void take(model_rank& self, const step& next, std::uint64_t& awaited,
          std::vector<period>& computed) {
    const std::uint32_t peer = self.number() == 0 ? next.board : 0;
    switch (next.kind) {
        case step::compute: {
            const ticks start = self.now();
            self.compute(next.time);
            computed.push_back({start, self.now()});
            break;
        }
        case step::put: self.put(peer, 64, next.bytes); break;
        case step::get: self.get(peer, 64, next.bytes); break;
        case step::get_of_other:
            if (next.board != self.number()) self.get(next.board, 64, next.bytes);
            break;
        case step::await: self.await(0, ++awaited); break;
    }
}

outcome run_program(const program& what) {
    outcome found;
    const std::uint32_t ranks = what.model.ranks;
    found.computed.resize(ranks);
    found.offered.resize(ranks);
    for (std::uint32_t rank = 1; rank < ranks; ++rank) {
        found.offered[rank] = static_cast<std::uint64_t>(
            std::count_if(what.steps[rank].begin(), what.steps[rank].end(),
                          [](const step& each) { return each.kind == step::await; }));
    }
    model_run run(what.model);
    run.wires<bus_network>().watch(
        [&](const bus_transfer& each) { found.transfers.push_back(each); });
    run.run([&](model_rank& self) {
        std::uint64_t awaited = 0;
        for (const step& next : what.steps[self.number()]) {
            take(self, next, awaited, found.computed[self.number()]);
        }
        if (self.number() != 0) return;
        for (std::uint32_t board = 1; board < ranks; ++board) {
            for (std::uint64_t i = 0; i < found.offered[board]; ++i) self.raise(board, 0);
        }
    });
    found.end = run.ended();
    found.use = run.all().wires().links().at(0);
    return found;
}

RC_GTEST_PROP(bus, carries_one_transfer_at_a_time_and_is_busy_or_idle, ()) {
    program what = random_program();
    what.model.bus.idle_boards_only = *rc::gen::arbitrary<bool>();
    const outcome found = run_program(what);
    ticks busy = 0;
    ticks idle = 0;
    ticks last = 0;
    std::uint64_t bytes = 0;
    for (const bus_transfer& each : found.transfers) {
        RC_ASSERT(each.start >= last);
        idle += each.start - last;
        busy += each.end - each.start;
        last = each.end;
        bytes += each.bytes;
    }
    const ticks total = std::max(last, found.end);
    RC_ASSERT(found.use.busy == busy);
    RC_ASSERT(found.use.busy + idle + (total - last) == total);
    RC_ASSERT(found.use.messages == found.transfers.size());
    RC_ASSERT(found.use.bytes == bytes);
}

RC_GTEST_PROP(bus, no_transfer_meets_a_board_that_computes, ()) {
    program what = random_program();
    what.model.bus.idle_boards_only = true;
    const outcome found = run_program(what);
    for (const bus_transfer& each : found.transfers) {
        for (const period& computed : found.computed[each.board]) {
            RC_ASSERT(computed.end <= each.start || computed.start >= each.end ||
                      computed.start == computed.end || each.start == each.end);
        }
    }
}

// --- a farm: the master gives each board its part, and reads each result
// --------------------------

struct farm {
    std::uint32_t boards = 1;
    std::uint64_t bytes_in = 8;  ///< of each board, with its signal
    std::uint64_t bytes_out = 0;
    ticks compute = 0;  ///< of each board
    bus_model bus;
};

farm random_farm() {
    farm made;
    made.boards = *rc::gen::inRange(1u, 9u);
    made.bytes_in = *rc::gen::inRange<std::uint64_t>(8, 400);
    made.bytes_out = *rc::gen::inRange<std::uint64_t>(0, 400);
    made.compute = *rc::gen::inRange<ticks>(0, 4000);
    made.bus.idle_boards_only = true;
    made.bus.write_per_byte = rate::from_ticks(*rc::gen::inRange(1, 20));
    made.bus.read_per_byte = rate::from_ticks(*rc::gen::inRange(1, 20));
    return made;
}

ticks time_of(const farm& what) {
    machine_model model = free_model(what.boards + 1, network_kind::bus);
    model.bus = what.bus;
    model_run run(model);
    run.run([&](model_rank& self) {
        if (self.number() != 0) {
            self.await(0, 1);
            return self.compute(what.compute);
        }
        for (std::uint32_t board = 1; board <= what.boards; ++board) {
            self.put_signal(board, 0, what.bytes_in - 8);
        }
        for (std::uint32_t board = 1; board <= what.boards; ++board) {
            self.get(board, 64, what.bytes_out);  // of a board that has finished
        }
    });
    return run.ended(0);
}

RC_GTEST_PROP(bus_farm, takes_what_the_three_bounds_say, ()) {
    const farm what = random_farm();
    const ticks in = what.bus.write_per_byte.of(what.bytes_in);
    const ticks out = what.bus.read_per_byte.of(what.bytes_out);
    const auto boards = static_cast<ticks>(what.boards);
    RC_ASSERT(time_of(what) == std::max({boards * (in + out), in + what.compute + boards * out,
                                         boards * in + what.compute + out}));
}

RC_GTEST_PROP(bus_farm, more_boards_never_beat_the_bus, ()) {
    farm what = random_farm();
    what.bus.setup = *rc::gen::inRange<ticks>(0, 100);
    // The same work in more parts: the bytes stay, the computation is divided.
    const ticks work = *rc::gen::inRange<ticks>(0, 20'000);
    const std::uint64_t in = 8 * what.bytes_in;
    const std::uint64_t out = 8 * what.bytes_out;
    for (const std::uint32_t boards : {1u, 2u, 4u, 8u}) {
        what.boards = boards;
        what.bytes_in = in / boards;
        what.bytes_out = out / boards;
        what.compute = work / boards;
        const ticks bus = 2 * boards * what.bus.setup + what.bus.write_per_byte.of(in) +
                          what.bus.read_per_byte.of(out);
        RC_ASSERT(time_of(what) >= bus);
    }
}

RC_GTEST_PROP(bus_farm, half_the_bandwidth_is_never_faster_and_at_most_doubles_the_time, ()) {
    farm what = random_farm();
    what.bus.setup = *rc::gen::inRange<ticks>(0, 100);
    const ticks whole = time_of(what);
    what.bus.write_per_byte.scaled *= 2;
    what.bus.read_per_byte.scaled *= 2;
    const ticks half = time_of(what);
    RC_ASSERT(half >= whole);
    RC_ASSERT(half <= 2 * whole);
}

}  // namespace
}  // namespace selion::machine::sim
