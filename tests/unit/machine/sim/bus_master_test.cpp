// SPDX-License-Identifier: Apache-2.0
/// Whose processor a bus needs, and whom it may not disturb.
#include <gtest/gtest.h>

#include "unit/machine/sim/wires/bus_models.hpp"

namespace selion::machine::sim {
namespace {

TEST(bus_master, a_read_for_a_board_takes_the_time_from_what_it_computes) {
    for (const bool has_dma : {false, true}) {
        machine_model model = plain_bus(1);
        model.bus.has_dma = has_dma;
        model_run run(model);
        run.run_each({[](model_rank& master) {
                          master.compute(50'000);
                          master.raise(1, 0);  // falls in with the others
                      },
                      [](model_rank& board) { board.put(0, 64, 8); }});
        EXPECT_EQ(run.ended(0), has_dma ? 50'000 : 50'000 + read_of(8) + write_of(8)) << has_dma;
    }
}

TEST(bus_master, a_look_at_the_clock_sees_the_time_that_was_taken) {
    model_run run(plain_bus(1));
    std::int64_t seen = 0;
    run.run_each({[&](model_rank& master) {
                      master.compute(50'000);
                      seen = master.read_clock_ps();
                  },
                  [](model_rank& board) { board.put(0, 64, 8); }});
    EXPECT_EQ(seen, 50'000 + read_of(8));
}

TEST(bus_master, whose_wait_is_ahead_begins_it_later) {
    model_run run(plain_bus(2));
    run.run_each({[](model_rank& master) {
                      master.compute(50'000);  // waits before the others have begun
                      master.await(0, 1);
                  },
                  [](model_rank& board) {
                      board.compute(5);
                      board.put(0, 64, 8);
                  },
                  [](model_rank& board) {
                      board.compute(20'000);
                      board.raise(0, 0);
                  }});
    // Both reads interrupted what it computed: the signal was there when it began to wait.
    EXPECT_EQ(run.ended(0), 50'000 + read_of(8) + read_of(8));
}

TEST(bus_master, an_interruption_moves_the_wait_that_is_ahead) {
    model_run run(plain_bus(2));
    constexpr ticks asked = 2'990;
    run.run_each({[](model_rank& master) {
                      master.compute(asked + 10);
                      master.await(0, 1);
                  },
                  [](model_rank& board) {
                      board.compute(asked);
                      board.put(0, 64, 8);
                  },
                  [](model_rank& board) {
                      board.compute(asked + 500);
                      board.raise(0, 0);
                  }});
    // Ten ticks were left to compute when the first read began, and when the second did.
    EXPECT_EQ(run.ended(0), asked + 2 * read_of(8) + 10);
}

TEST(bus_master, that_waits_goes_on_after_the_transfer_that_it_carries) {
    for (const bool has_dma : {false, true}) {
        machine_model model = plain_bus(1);
        model.bus.has_dma = has_dma;
        model_run run(model);
        run.run_each({[](model_rank& master) { EXPECT_FALSE(master.await_until(0, 1, 10'000)); },
                      [](model_rank& board) {
                          board.compute(9'500);
                          board.put(0, 64, 8);
                      }});
        EXPECT_EQ(run.ended(0), has_dma ? 10'000 : 9'500 + read_of(8)) << has_dma;
    }
}

TEST(bus_master, reads_for_boards_come_before_what_it_computes) {
    model_run run(plain_bus(2));
    run.run_each({[](model_rank& master) {
                      master.compute(100);
                      master.get(1, 64, 8);
                  },
                  [](model_rank& board) { board.put(0, 128, 8); },
                  [](model_rank& board) {
                      board.compute(50);
                      board.put(0, 192, 8);
                  }});
    EXPECT_EQ(run.ended(0), 2 * read_of(8) + 100 + read_of(8));
}

TEST(bus_master, its_own_read_waits_for_those_who_asked_before_and_for_no_others) {
    model_run run(dma_bus(3));
    const auto all = transfers_of(run, {[](model_rank& master) {
                                            master.compute(100);
                                            master.get(3, 64, 8);
                                        },
                                        [](model_rank& board) { board.put(0, 128, 8); },
                                        [](model_rank& board) {
                                            board.compute(200);
                                            board.put(0, 192, 8);
                                        }});
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].board, 1u);
    EXPECT_EQ(all[1].board, 3u);
    EXPECT_EQ(all[2].board, 2u);
    EXPECT_EQ(run.ended(0), 2 * read_of(8));
}

// --- idle boards only ----------------------------------------------------------------------------

TEST(idle_boards_only, the_master_waits_exactly_until_the_board_does) {
    model_run run(careful_bus(1));
    run.run_each({[](model_rank& master) { master.put_signal(1, 0, 8); },
                  [](model_rank& board) {
                      board.compute(30'000);
                      board.await(0, 1);
                  }});
    EXPECT_EQ(run.ended(0), 30'000 + write_of(16));
    EXPECT_EQ(run.ended(1), 30'000 + write_of(16));
    EXPECT_EQ(run.all().wires().stalls(0), 30'000);
    EXPECT_EQ(run.all().wires().links().at(0).waiting, 30'000);
}

TEST(idle_boards_only, a_board_that_began_to_wait_ahead_is_idle_from_then_on) {
    model_run run(careful_bus(2));
    ticks free_at = 0;
    run.run_each({[&](model_rank& master) {
                      master.compute(1'000);
                      master.raise(1, 0);  // who stands still already, at 30'000 of its own clock
                      free_at = master.now();
                      master.raise(2, 0);
                  },
                  [](model_rank& board) {
                      board.compute(30'000);
                      board.await(0, 1);
                  },
                  [](model_rank& board) { board.await(0, 1); }});
    EXPECT_EQ(free_at, 30'000 + write_of(8));
    EXPECT_EQ(run.ended(2), free_at + write_of(8));
}

TEST(idle_boards_only, others_are_served_before_one_that_computes) {
    machine_model model = careful_bus(2);
    model.bus.has_dma = true;  // the list waits, not the master
    model_run run(model);
    const auto all = transfers_of(run, {[](model_rank& master) {
                                            master.raise(1, 0);
                                            master.raise(2, 0);
                                        },
                                        [](model_rank& board) {
                                            board.compute(30'000);
                                            board.await(0, 1);
                                        },
                                        [](model_rank& board) {
                                            board.compute(10'000);
                                            board.await(0, 1);
                                        }});
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].board, 2u);
    EXPECT_EQ(all[0].start, 10'000);
    EXPECT_EQ(all[1].board, 1u);
    EXPECT_EQ(all[1].start, 30'000);
}

TEST(idle_boards_only, a_board_that_has_ended_is_idle) {
    model_run run(careful_bus(1));
    run.run_each({[](model_rank& master) { master.put(1, 64, 8); },
                  [](model_rank& board) { board.compute(4'000); }});
    EXPECT_EQ(run.ended(0), 4'000 + write_of(8));
}

TEST(idle_boards_only, a_board_goes_on_after_the_transfer_that_concerns_it) {
    model_run run(careful_bus(2));
    const program_of_rank waits = [](model_rank& board) {
        EXPECT_FALSE(board.await_until(0, 1, 10'000));
    };
    run.run_each({[](model_rank& master) {
                      master.compute(9'500);
                      master.put(1, 64, 8);
                  },
                  waits, waits});
    EXPECT_EQ(run.ended(1), 9'500 + write_of(8));
    EXPECT_EQ(run.ended(2), 10'000);
}

TEST(bus_master, has_a_processor_of_its_own) {
    machine_model model = careful_bus(1);
    model.processor.call = 3;
    model.processor.poll = 7;
    model.master = model.processor;
    model.master->call = 50;
    model.master->poll = 200;
    model_run run(model);
    const auto looks = [](model_rank& rank) {
        for (int i = 0; i < 5; ++i) rank.look(64);  // the first poll is free
    };
    run.run_each({looks, looks});
    EXPECT_EQ(run.ended(0), 5 * 50 + 4 * 200);
    EXPECT_EQ(run.ended(1), 5 * 3 + 4 * 7);
}

TEST(idle_boards_only, a_board_that_looks_again_and_again_is_idle_at_each_look) {
    machine_model model = careful_bus(1);
    model.processor.poll = 7;
    model_run run(model);
    run.run_each({[](model_rank& master) {
                      master.compute(1'000);
                      master.put_word(1, 64, 1);
                  },
                  [](model_rank& board) {
                      while (board.look(64) == 0) {
                      }
                  }});
    EXPECT_EQ(run.ended(0), 143 * 7 + write_of(8));
}

TEST(idle_boards_only, a_board_that_was_just_woken_is_not_idle) {
    model_run run(careful_bus(1));
    const auto all = transfers_of(run, {[](model_rank& master) {
                                            master.raise(1, 0);
                                            master.get(1, 64, 8);  // at the moment of its waking
                                        },
                                        [](model_rank& board) {
                                            board.await(0, 1);
                                            board.compute(700);
                                        }});
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[1].start, write_of(8) + 700);
}

TEST(idle_boards_only, what_a_board_offers_is_read_when_it_waits) {
    model_run run(careful_bus(1));
    run.run_each({[](model_rank& master) {
                      master.await(0, 1);
                      master.raise(1, 0);
                  },
                  [](model_rank& board) {
                      board.put_signal(0, 0, 8);
                      board.compute(20'000);
                      board.await(0, 1);
                  }});
    EXPECT_EQ(run.ended(0), 20'000 + read_of(16) + write_of(8));
}

TEST(idle_boards_only, the_master_reads_what_the_board_wrote_before_it_waited) {
    model_run run(careful_bus(1));
    std::uint64_t found = 0;
    run.run_each({[&](model_rank& master) { found = master.get_word(1, 64); },
                  [](model_rank& board) {
                      board.compute(20'000);
                      board.fetch_add(1, 64, 5);  // its own memory: falls in with the others
                  }});
    EXPECT_EQ(found, 5u);
    EXPECT_EQ(run.ended(0), 20'000 + read_of(8));
}

// --- boards as masters ---------------------------------------------------------------------------

TEST(boards_as_masters, a_transfer_through_a_box_takes_its_time_either_way) {
    machine_model model = plain_bus(3);
    model.bus.boards_are_masters = true;
    model.bus.slots = 2;
    model.bus.boards_per_expander = 2;  // boards 2 and 3 sit in a box
    model.bus.expander = 500;
    const std::vector<program_of_rank> there{
        [](model_rank&) {}, [](model_rank& board) { board.raise(3, 0); }, [](model_rank&) {},
        [](model_rank& board) { board.await(0, 1); }};
    const std::vector<program_of_rank> back{
        [](model_rank&) {}, [](model_rank& board) { board.await(0, 1); }, [](model_rank&) {},
        [](model_rank& board) { board.raise(1, 0); }};
    for (const auto* programs : {&there, &back}) {
        model_run run(model);
        run.run_each(*programs);
        EXPECT_EQ(run.ended(), write_of(8) + 500);
    }
}

TEST(boards_as_masters, a_board_that_computes_sends_when_it_is_idle) {
    machine_model model = careful_bus(2);
    model.bus.boards_are_masters = true;
    model_run run(model);
    run.run_each({[](model_rank&) {},
                  [](model_rank& board) {
                      board.put_signal(2, 0, 8);
                      board.compute(20'000);
                  },
                  [](model_rank& board) { board.await(0, 1); }});
    EXPECT_EQ(run.ended(2), 20'000 + write_of(16));
}

}  // namespace
}  // namespace selion::machine::sim
