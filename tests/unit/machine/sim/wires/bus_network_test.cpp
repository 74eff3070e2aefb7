// SPDX-License-Identifier: Apache-2.0
/// What single transfers on a bus take.
#include "machine/sim/wires/bus_network.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "unit/machine/sim/wires/bus_models.hpp"

namespace selion::machine::sim {
namespace {

TEST(bus_network, a_write_of_the_master_holds_its_processor_and_arrives_at_its_end) {
    machine_model model = plain_bus(2);
    set_costs(model, {.origin = 7, .target = 3});
    model_run run(model);
    run.run_each({[](model_rank& master) { master.put_signal(2, 0, 100); }, [](model_rank&) {},
                  [](model_rank& board) { board.await(0, 1); }});
    EXPECT_EQ(run.ended(0), 7 + write_of(108));  // the signal is a word more
    EXPECT_EQ(run.ended(2), 7 + write_of(108) + 3);
}

TEST(bus_network, dma_leaves_the_processor_free) {
    model_run run(dma_bus(1));
    ticks free_at = -1;
    run.run_each({[&](model_rank& master) {
                      master.compute(5);
                      master.put_signal(1, 0, 100);
                      free_at = master.now();
                  },
                  [](model_rank& board) { board.await(0, 1); }});
    EXPECT_EQ(free_at, 5);
    EXPECT_EQ(run.ended(1), 5 + write_of(108));
}

TEST(bus_network, a_read_of_the_master_is_one_transfer) {
    machine_model model = plain_bus(1);
    set_costs(model, {.origin = 7, .target = 3, .reply = 2});
    model_run run(model);
    std::uint64_t found = 0;
    const auto all = transfers_of(run, {[&](model_rank& master) { found = master.get_word(1, 64); },
                                        [](model_rank& board) { board.own(64) = 99; }});
    EXPECT_EQ(found, 99u);
    EXPECT_EQ(run.ended(0), 7 + 3 + read_of(8) + 2);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_TRUE(all[0].is_read);
    EXPECT_EQ(all[0].board, 1u);
    EXPECT_EQ(all[0].bytes, 8u);
}

TEST(bus_network, boards_ask_and_the_master_carries) {
    model_run run(plain_bus(3));
    run.run_each({[](model_rank& master) { master.await(0, 1); },
                  [](model_rank& board) { board.put_signal(0, 0, 8); },
                  [](model_rank& board) {
                      board.compute_until(100'000);
                      board.get(0, 64, 40);
                  },
                  [](model_rank& board) {
                      board.compute_until(200'000);
                      board.get(1, 64, 40);
                  }});
    EXPECT_EQ(run.ended(0), read_of(16));
    EXPECT_EQ(run.ended(1), 0);  // leaves it, and goes on
    EXPECT_EQ(run.ended(2), 100'000 + read_of(0) + write_of(40));
    EXPECT_EQ(run.ended(3), 200'000 + read_of(0) + read_of(40) + write_of(40));
}

TEST(bus_network, reads_of_the_master_are_served_in_their_order) {
    model_run run(dma_bus(3));
    const auto all =
        transfers_of(run, {[](model_rank& master) {
                         master.put(3, 64, 100);  // the bus is busy when the reads are asked for
                         for (const std::uint32_t board : {1u, 2u, 3u, 1u})
                             master.start_get(board, 128, 8);
                         master.put(2, 64, 100);
                         master.quiet();
                     }});
    std::vector<std::uint32_t> boards;
    for (const bus_transfer& each : all) boards.push_back(each.board);
    EXPECT_EQ(boards, (std::vector<std::uint32_t>{3, 1, 2, 3, 1, 2}));
}

TEST(bus_network, an_atomic_is_a_write_and_a_read) {
    model_run run(plain_bus(1));
    std::uint64_t before = 1;
    run.run_each({[&](model_rank& master) { before = master.fetch_add(1, 0, 5); }});
    EXPECT_EQ(before, 0u);
    EXPECT_EQ(run.ended(0), write_of(8) + read_of(8));
}

TEST(bus_network, counts_what_it_carries) {
    model_run run(dma_bus(2));
    run.run_each({[](model_rank& master) {
                      master.compute(500);
                      master.raise(2, 0);
                  },
                  [](model_rank& board) { board.put(0, 64, 8); },
                  [](model_rank& board) { board.await(0, 1); }});
    EXPECT_EQ(run.ended(0), 500);
    EXPECT_EQ(run.ended(2), read_of(8) + write_of(8));
    const link_use use = run.all().wires().links().at(0);
    EXPECT_EQ(use.name, "bus");
    EXPECT_EQ(use.messages, 2u);
    EXPECT_EQ(use.bytes, 16u);
    EXPECT_EQ(use.busy, read_of(8) + write_of(8));
    EXPECT_EQ(use.waiting, read_of(8) - 500);
}

// --- constants -----------------------------------------------------------------------------------

TEST(bus_costs, keep_fractions_of_ticks) {
    machine_model model = plain_bus(1);
    model.bus.write_per_byte = rate::from_ticks(0.25);
    const bus_costs costs(model.bus, 2);
    EXPECT_EQ(costs.write(1, 7), bus_setup + 1);
    EXPECT_EQ(costs.write(1, 8), bus_setup + 2);
}

TEST(bus_costs, bursts_divide_the_rates_and_not_the_setup) {
    machine_model model = plain_bus(2);
    model.bus.burst = 2;
    const bus_costs costs(model.bus, 3);
    EXPECT_EQ(costs.write(1, 100), bus_setup + 500);
    EXPECT_EQ(costs.read(2, 100), bus_setup + 1000);
}

TEST(bus_costs, boards_in_boxes_pay_for_the_box) {
    machine_model model = plain_bus(5);
    model.bus.slots = 4;
    model.bus.boards_per_expander = 4;
    model.bus.expander = 300;
    model.bus.expander_per_byte = rate::from_ticks(5);
    const bus_costs costs(model.bus, model.ranks);
    EXPECT_EQ(costs.write(3, 10), bus_setup + 100);
    EXPECT_EQ(costs.read(3, 10), bus_setup + 200);
    EXPECT_EQ(costs.write(4, 10), bus_setup + 300 + 150);
    EXPECT_EQ(costs.read(5, 10), bus_setup + 300 + 250);
}

/// How many boards sit in boxes.
std::uint32_t boxed(std::uint32_t boards, std::uint32_t slots, std::uint32_t boards_per_box) {
    bus_model model;
    model.slots = slots;
    model.boards_per_expander = boards_per_box;
    const bus_costs costs(model, boards + 1);
    std::uint32_t count = 0;
    for (std::uint32_t board = 1; board <= boards; ++board) {
        count += costs.is_behind_box(board) ? 1 : 0;
    }
    return count;
}

TEST(bus_costs, boxes_are_as_few_as_hold_all_boards) {
    EXPECT_EQ(boxed(4, 4, 4), 0u);
    EXPECT_EQ(boxed(5, 4, 4), 2u);  // three slots and a box
    EXPECT_EQ(boxed(7, 4, 4), 4u);
    EXPECT_EQ(boxed(8, 4, 4), 6u);  // two slots and two boxes
    EXPECT_EQ(boxed(16, 4, 4), 16u);
    EXPECT_EQ(boxed(0, 4, 4), 0u);
    EXPECT_EQ(boxed(3, 0, 4), 3u);  // no slots are described: all in boxes
    EXPECT_EQ(boxed(16, 4, 0), 0u);
    EXPECT_EQ(boxed(4, 4, 1), 0u);  // boxes that hold one board each
    EXPECT_EQ(boxed(5, 4, 1), 5u);
    EXPECT_EQ(boxed(1, 0, 1), 1u);
}

// --- broadcast -----------------------------------------------------------------------------------

struct copy : message {
    ticks arrived = -1;
};

/// The master sends 50 bytes to all boards, the last of which waits from `late` on.
/// @return the copies, and when the master was free.
std::pair<std::deque<copy>, ticks> send_to_all(const machine_model& model, ticks late = 0) {
    model_run run(model);
    std::deque<copy> copies(model.ranks - 1);
    ticks free_at = 0;
    run.run([&](model_rank& self) {
        if (self.number() != 0) {
            if (self.number() + 1 == self.ranks()) self.compute(late);
            return self.await(0, 1);
        }
        std::vector<message*> all;
        for (copy& each : copies) {
            each.to = static_cast<std::uint32_t>(all.size()) + 1;
            each.bytes = 50;
            each.arrive = [](engine& host, event& due) {
                static_cast<copy&>(due).arrived = host.now();
            };
            all.push_back(&each);
        }
        task& own = self.events().current();
        free_at = own.now = dynamic_cast<bus_network&>(self.wires()).broadcast(self.events(), all);
        for (std::uint32_t board = 1; board < self.ranks(); ++board) self.raise(board, 0);
    });
    return {std::move(copies), free_at};
}

TEST(bus_broadcast, takes_one_transfer_for_all) {
    machine_model model = plain_bus(5);
    model.bus.has_broadcast = true;
    const auto [copies, free_at] = send_to_all(model);
    EXPECT_EQ(free_at, write_of(50));
    for (const copy& each : copies) EXPECT_EQ(each.arrived, write_of(50));
}

TEST(bus_broadcast, waits_for_the_last_board_and_pays_for_a_box_once) {
    machine_model model = careful_bus(5);
    model.bus.has_broadcast = true;
    model.bus.slots = 4;
    model.bus.boards_per_expander = 4;
    model.bus.expander = 300;
    const auto [copies, free_at] = send_to_all(model, 500);
    EXPECT_EQ(free_at, 500 + 300 + write_of(50));
    for (const copy& each : copies) EXPECT_EQ(each.arrived, free_at);
}

TEST(bus_broadcast, without_the_option_is_a_transfer_for_each) {
    const auto [copies, free_at] = send_to_all(plain_bus(5));
    EXPECT_EQ(free_at, 5 * write_of(50));
    for (std::size_t i = 0; i < copies.size(); ++i) {
        EXPECT_EQ(copies[i].arrived, static_cast<ticks>(i + 1) * write_of(50));
    }
}

TEST(bus_broadcast, with_dma_leaves_the_processor_free) {
    for (const bool has_broadcast : {false, true}) {
        machine_model model = dma_bus(3);
        model.bus.has_broadcast = has_broadcast;
        const auto [copies, free_at] = send_to_all(model);
        EXPECT_EQ(free_at, 0);
        EXPECT_EQ(copies.back().arrived, (has_broadcast ? 1 : 3) * write_of(50));
    }
}

}  // namespace
}  // namespace selion::machine::sim
