// SPDX-License-Identifier: Apache-2.0
// The mesh of whole messages beside that of transactions: equal where nobody is disturbed.
#include "machine/sim/wires/mesh_messages.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "machine/sim/wires/mesh_layout.hpp"
#include "machine/sim/wires/mesh_network.hpp"
#include "unit/machine/sim/wires/network_bed.hpp"

namespace selion::machine::sim {
namespace {

using programs_of_ranks = std::vector<std::deque<sample>>;

/// The Epiphany in half cycles, with DMA and without.
mesh_model epiphany(std::uint32_t side = 4) {
    mesh_model model;
    model.rows = side;
    model.columns = side;
    model.entry = 3;
    model.hop = 3;
    model.slot = 2;
    model.loop_entry = 16;
    model.loop_unroll = 8;
    model.unrolled_store = 4;
    model.remainder_store = 12;
    model.dma_setup = 627;
    model.dma_per_byte = rate::from_ticks(0.786);
    return model;
}

struct outcome {
    std::vector<ticks> arrived;
    std::vector<ticks> free;  ///< when each processor was
    std::vector<link_use> links;
    std::vector<ticks> stalls;
    ticks end = 0;

    ticks waiting(std::string_view link) const {
        for (const link_use& each : links) {
            if (each.name == link) return each.waiting;
        }
        return -1;
    }
};

using maker = std::unique_ptr<network> (*)(const mesh_model&);

outcome run(maker make, const mesh_model& model, programs_of_ranks programs) {
    network_bed bed(model.rows * model.columns, make(model));
    programs.resize(bed.host().ranks());
    outcome made;
    made.free = bed.copy(programs);
    for (const auto& of_rank : programs) {
        for (const sample& what : of_rank) made.arrived.push_back(what.arrived);
    }
    for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
        made.stalls.push_back(bed.wires().stalls(rank));
    }
    made.links = bed.wires().links();
    made.end = bed.end();
    return made;
}

/// The same by events.
outcome deliver(maker make, const mesh_model& model, std::deque<sample> all) {
    network_bed bed(model.rows * model.columns, make(model));
    bed.deliver(all);
    outcome made;
    for (const sample& what : all) made.arrived.push_back(what.arrived);
    made.links = bed.wires().links();
    made.end = bed.end();
    return made;
}

void expect_equal(const outcome& found, const outcome& expected, const std::string& what) {
    EXPECT_EQ(found.arrived, expected.arrived) << what;
    EXPECT_EQ(found.free, expected.free) << what;
    EXPECT_EQ(found.stalls, expected.stalls) << what;
    ASSERT_EQ(found.links.size(), expected.links.size()) << what;
    for (std::size_t i = 0; i < found.links.size(); ++i) {
        const link_use& one = found.links[i];
        const link_use& other = expected.links[i];
        EXPECT_EQ(one.name, other.name) << what;
        EXPECT_EQ(one.messages, other.messages) << what << ", " << one.name;
        EXPECT_EQ(one.bytes, other.bytes) << what << ", " << one.name;
        EXPECT_EQ(one.busy, other.busy) << what << ", " << one.name;
        EXPECT_EQ(one.waiting, other.waiting) << what << ", " << one.name;
    }
}

// --- nobody disturbs -----------------------------------------------------------------------------

struct pace {
    const char* name;
    void (*change)(mesh_model&);
};

void PrintTo(const pace& of, std::ostream* out) { *out << of.name; }

class mesh_pace_test : public testing::TestWithParam<pace> {};

TEST_P(mesh_pace_test, one_message_arrives_as_its_transactions_do) {
    mesh_model model = epiphany();
    GetParam().change(model);
    for (const bool by_dma : {false, true}) {
        for (const std::uint64_t bytes : {0, 1, 4, 7, 8, 12, 16, 20, 33, 64, 100, 1000, 4100}) {
            for (const std::uint32_t to : {0U, 5U, 6U, 9U, 15U}) {
                programs_of_ranks programs(6);
                programs[5].emplace_back(0, 5, to, bytes);
                programs[5].back().by_dma = by_dma;
                expect_equal(run(make_mesh_messages, model, programs),
                             run(make_mesh_network, model, programs),
                             std::to_string(bytes) + " bytes to " + std::to_string(to));
            }
        }
    }
}

/// Nobody but the messages before it: a source never catches up with itself on the way.
TEST_P(mesh_pace_test, messages_of_one_source_arrive_as_their_transactions_do) {
    mesh_model model = epiphany();
    GetParam().change(model);
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        std::mt19937_64 random(seed);
        programs_of_ranks programs(6);
        std::deque<sample> by_events;
        ticks at = 0;
        for (int i = 0; i < 60; ++i) {
            const auto to = static_cast<std::uint32_t>(random() % 16);
            const std::uint64_t bytes = random() % 4 == 0 ? random() % 300 : random() % 20;
            at += static_cast<ticks>(random() % 40);
            programs[5].emplace_back(0, 5, to, bytes);
            by_events.emplace_back(at, 5, to, bytes);
        }
        const std::string what = "seed " + std::to_string(seed);
        expect_equal(run(make_mesh_messages, model, programs),
                     run(make_mesh_network, model, programs), what + ", stores");
        for (sample& each : programs[5]) each.by_dma = true;
        expect_equal(run(make_mesh_messages, model, programs),
                     run(make_mesh_network, model, programs), what + ", DMA");
        // Queues of rings keep a place free and hold back whoever sends as fast as a link.
        if (model.wraps_around) continue;
        expect_equal(deliver(make_mesh_messages, model, by_events),
                     deliver(make_mesh_network, model, by_events), what + ", events");
    }
}

INSTANTIATE_TEST_SUITE_P(
    paces, mesh_pace_test,
    testing::Values(pace{"as_measured", [](mesh_model&) {}},
                    pace{"on_a_torus", [](mesh_model& of) { of.wraps_around = true; }},
                    pace{"stores_faster_than_a_link",
                         [](mesh_model& of) {
                             of.unrolled_store = 0;
                             of.remainder_store = 1;
                             of.loop_entry = 0;
                         }},
                    pace{"remainders_faster_than_a_link",
                         [](mesh_model& of) {
                             of.remainder_store = 1;
                             of.loop_unroll = 3;
                         }},
                    pace{"not_unrolled", [](mesh_model& of) { of.loop_unroll = 1; }},
                    pace{"dma_as_fast_as_a_link",
                         [](mesh_model& of) { of.dma_per_byte = rate::from_ticks(0.25); }},
                    pace{"dma_almost_as_fast",
                         [](mesh_model& of) { of.dma_per_byte = rate::from_ticks(0.3); }},
                    pace{"dma_a_little_faster",
                         [](mesh_model& of) { of.dma_per_byte = rate::from_ticks(0.2); }},
                    pace{"dma_at_once",
                         [](mesh_model& of) {
                             of.dma_per_byte = {};
                             of.dma_setup = 0;
                         }},
                    pace{"long_wires",
                         [](mesh_model& of) {
                             of.entry = 11;
                             of.hop = 5;
                         }},
                    pace{"no_wires",
                         [](mesh_model& of) {
                             of.entry = 0;
                             of.hop = 0;
                         }},
                    pace{"fine_ticks",
                         [](mesh_model& of) {
                             of.slot = 1;
                             of.unrolled_store = 2;
                         }}),
    [](const testing::TestParamInfo<pace>& of) { return std::string(of.param.name); });

// --- links ---------------------------------------------------------------------------------------

TEST(mesh_messages_test, a_core_takes_one_message_after_another_from_both_sides) {
    std::deque<sample> all;
    all.emplace_back(0, 4, 5, 800);
    all.emplace_back(0, 6, 5, 800);
    const outcome found = deliver(make_mesh_messages, epiphany(), all);
    EXPECT_THAT(found.arrived, testing::ElementsAre(6 + 99 * 2, 6 + 199 * 2));
    EXPECT_EQ(found.waiting("(1,1) into core"), 100 * 200);  // each of them as long
    EXPECT_EQ(found.waiting("(1,0) east"), 0);
    EXPECT_EQ(found.waiting("(1,2) west"), 0);
}

TEST(mesh_messages_test, a_slow_message_catches_up_behind_one_that_it_waits_for) {
    const auto waiting = [](ticks store) {
        mesh_model model = epiphany();
        model.loop_entry = 0;
        model.loop_unroll = 1;
        model.remainder_store = store;
        programs_of_ranks programs(7);
        programs[4].emplace_back(0, 4, 5, 40);
        programs[6].emplace_back(0, 6, 5, 40);
        const outcome found = run(make_mesh_messages, model, programs);
        EXPECT_EQ(found.arrived[0], 10 * store + 6);
        EXPECT_EQ(found.arrived[1], std::max(10 * store + 6, store + 6 + 19 * 2));
        EXPECT_EQ(found.stalls[6], 0);
        return found.waiting("(1,1) into core");
    };
    EXPECT_EQ(waiting(2), 10 * 20);
    EXPECT_EQ(waiting(4), 20 + 18 + 16 + 14 + 12 + 10 + 8 + 6 + 4 + 2);
    EXPECT_EQ(waiting(6), 20 + 16 + 12 + 8 + 4);
    EXPECT_EQ(waiting(22), 20);
}

TEST(mesh_messages_test, latency_is_the_way_and_the_waits_of_each_transaction) {
    std::mt19937_64 random(7);
    std::deque<sample> all;
    ticks ways = 0;
    for (ticks at = 0; at < 2000; at += 2) {
        const auto from = static_cast<std::uint32_t>(random() % 16);
        const auto to = static_cast<std::uint32_t>(random() % 16);
        all.emplace_back(at, from, to, 1 + random() % 8);
        ways += (mesh_layout(epiphany()).way(from, to).hops() + 1) * 3;
        all.emplace_back(at, 12, 3, 8);
        ways += 7 * 3;
    }
    const outcome found = deliver(make_mesh_messages, epiphany(), all);
    ticks latency = 0;
    for (std::size_t i = 0; i < all.size(); ++i) latency += found.arrived[i] - all[i].sent;
    ticks waits = 0;
    for (const link_use& link : found.links) waits += link.waiting;
    EXPECT_GT(waits, 0);
    EXPECT_EQ(latency, ways + waits);
}

TEST(mesh_messages_test, a_message_is_an_event_for_each_router_and_one_more) {
    network_bed bed(16, make_mesh_messages(epiphany()));
    sample far(0, 0, 15, 4096);
    far.arrive = [](engine& host, event&) { host.resume_at(host.rank(0), host.now()); };
    bed.host().run([&](std::uint32_t rank) {
        if (rank != 0) return;
        const std::uint64_t others = bed.host().events_so_far() + 15;  // ranks that end at once
        bed.wires().inject_from_event(bed.host(), far);
        bed.host().suspend();
        EXPECT_EQ(bed.host().events_so_far() - others, 7U + 1 + 1);  // and rank 0 goes on
    });
}

// --- sources that are held back ------------------------------------------------------------------

TEST(mesh_messages_test, a_core_stands_still_while_its_own_router_is_full) {
    mesh_model model = epiphany();
    model.loop_unroll = 1;
    model.loop_entry = 0;
    model.remainder_store = 2;
    programs_of_ranks programs(2);
    programs[0].emplace_back(0, 0, 3, 4000);  // its row is taken for 1,000 slots
    programs[1].emplace_back(0, 1, 3, 400);
    const outcome found = run(make_mesh_messages, model, programs);
    // Node 1 sees its neighbour's head three ticks after its own, so it goes first.
    EXPECT_EQ(found.free[1], 100 * 2);
    programs[1].front().bytes = 40;
    programs[1].emplace_back(0, 1, 3, 400);
    const outcome second = run(make_mesh_messages, model, programs);
    // The second one follows the neighbour's. All but its last three transactions are gone then.
    EXPECT_EQ(second.free[0], 1000 * 2);
    EXPECT_EQ(second.free[1] - second.stalls[1], 110 * 2);
    EXPECT_EQ(second.free[1], 2 + 3 + (10 + 1000 + 100 - 3) * 2);
}

TEST(mesh_messages_test, short_messages_hold_a_core_back_as_a_long_one_does) {
    mesh_model model = epiphany();
    model.loop_unroll = 1;
    model.loop_entry = 0;
    model.remainder_store = 2;
    programs_of_ranks programs(2);
    programs[0].emplace_back(0, 0, 3, 4000);
    programs[1].emplace_back(0, 1, 3, 40);
    for (int i = 0; i < 100; ++i) programs[1].emplace_back(0, 1, 3, 4);
    const outcome found = run(make_mesh_messages, model, programs);
    EXPECT_EQ(found.free[1] - found.stalls[1], 110 * 2);
    EXPECT_GE(found.free[1], 1000 * 2 + (100 - 3) * 2);
    EXPECT_LE(found.free[1], 2 + 3 + (10 + 1000 + 100) * 2);
}

TEST(mesh_messages_test, what_waits_in_a_queue_takes_its_place_from_all_that_follows) {
    mesh_model model = epiphany();
    model.loop_unroll = 1;
    model.loop_entry = 0;
    model.remainder_store = 2;
    programs_of_ranks programs(2);
    programs[0].emplace_back(0, 0, 3, 4000);
    programs[1].emplace_back(0, 1, 5, 40);
    programs[1].emplace_back(0, 1, 3, 4);  // behind all of the neighbour's
    programs[1].emplace_back(0, 1, 5, 4);  // not behind it
    programs[1].emplace_back(0, 1, 5, 12);
    const outcome found = run(make_mesh_messages, model, programs);
    EXPECT_LT(found.arrived[3], 100);
    // The queue has three places: the first of three stores finds one, the last one does not
    // before the store to the east is gone.
    EXPECT_GE(found.free[1], 1000 * 2);
}

TEST(mesh_messages_test, the_time_of_a_copy_is_its_stores_and_its_stalls) {
    mesh_model model = epiphany();
    model.loop_unroll = 1;
    model.loop_entry = 0;
    model.remainder_store = 2;
    programs_of_ranks programs(16);
    for (std::uint32_t core = 1; core < 16; ++core) {
        for (int i = 0; i < 5; ++i) programs[core].emplace_back(0, core, 0, 80);
    }
    const outcome found = run(make_mesh_messages, model, programs);
    ticks stalls = 0;
    for (std::uint32_t core = 1; core < 16; ++core) {
        EXPECT_EQ(found.free[core], 100 * 2 + found.stalls[core]) << core;
        stalls += found.stalls[core];
    }
    EXPECT_GE(found.end, 1500 * 2);
    EXPECT_GT(stalls, 0);
}

TEST(mesh_messages_test, what_a_core_sends_to_another_arrives_in_order) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        std::mt19937_64 random(seed);
        programs_of_ranks programs(16);
        for (std::uint32_t core = 0; core < 16; ++core) {
            for (int i = 0; i < 40; ++i) {
                const auto to = static_cast<std::uint32_t>(random() % 3 * 5);
                programs[core].emplace_back(0, core, to, random() % 100);
            }
        }
        network_bed bed(16, make_mesh_messages(epiphany()));
        bed.copy(programs);
        for (const auto& of_core : programs) {
            std::map<std::uint32_t, ticks> last;
            for (const sample& what : of_core) {
                EXPECT_EQ(what.arrivals, 1U);
                EXPECT_GT(what.arrived, last[what.to]);
                last[what.to] = what.arrived;
            }
        }
    }
}

// --- near transactions ---------------------------------------------------------------------------

TEST(mesh_messages_test, small_loads_take_as_long_as_single_transactions_do) {
    std::mt19937_64 random(20161009);
    std::deque<sample> all;
    for (ticks at = 0; at < 20'000; at += 2) {
        for (std::uint32_t from = 0; from < 16; ++from) {
            if (random() % 100 == 0) {
                all.emplace_back(at, from, static_cast<std::uint32_t>(random() % 16), 16);
            }
        }
    }
    const outcome found = deliver(make_mesh_messages, epiphany(), all);
    const outcome expected = deliver(make_mesh_network, epiphany(), all);
    ticks sum = 0;
    ticks expected_sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        sum += found.arrived[i] - all[i].sent;
        expected_sum += expected.arrived[i] - all[i].sent;
    }
    EXPECT_NEAR(static_cast<double>(sum) / static_cast<double>(expected_sum), 1, 0.01);
}

/// All cores to all others, each beginning with the next one.
programs_of_ranks exchange(std::uint32_t nodes, std::uint64_t bytes) {
    programs_of_ranks programs(nodes);
    for (std::uint32_t core = 0; core < nodes; ++core) {
        for (std::uint32_t i = 1; i < nodes; ++i) {
            programs[core].emplace_back(0, core, (core + i) % nodes, bytes);
        }
    }
    return programs;
}

double share(maker make, const mesh_model& model, const programs_of_ranks& programs,
             const outcome& expected) {
    return static_cast<double>(run(make, model, programs).end) / static_cast<double>(expected.end);
}

TEST(mesh_messages_test, a_crowd_takes_as_long_as_with_long_queues) {
    const programs_of_ranks programs = exchange(64, 256);
    mesh_model model = epiphany(8);
    const outcome found = run(make_mesh_messages, model, programs);
    EXPECT_GT(share(make_mesh_network, model, programs, found), 1);  // queues that push back
    model.queue_slots = 4096;
    EXPECT_NEAR(share(make_mesh_network, model, programs, found), 1, 0.05);
}

TEST(mesh_messages_test, a_mesh_that_is_not_crowded_takes_as_long) {
    const programs_of_ranks programs = exchange(16, 256);
    const outcome found = run(make_mesh_messages, epiphany(), programs);
    EXPECT_NEAR(share(make_mesh_network, epiphany(), programs, found), 1, 0.02);
}

}  // namespace
}  // namespace selion::machine::sim
