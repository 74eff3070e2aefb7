// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/wires/mesh_network.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "unit/machine/sim/wires/network_bed.hpp"

namespace selion::machine::sim {
namespace {

using testing::ElementsAre;

/// 4 × 4 in half cycles: one hop and one entry take three, a link's slot two.
mesh_model epiphany() {
    mesh_model model;
    model.rows = 4;
    model.columns = 4;
    model.entry = 3;
    model.hop = 3;
    model.slot = 2;
    return model;
}

std::unique_ptr<network_bed> bed_of(const mesh_model& model) {
    return std::make_unique<network_bed>(model.rows * model.columns, make_mesh_network(model));
}

std::uint32_t hops(const mesh_model& model, std::uint32_t from, std::uint32_t to) {
    const auto along = [&](std::uint32_t here, std::uint32_t there, std::uint32_t side) {
        const std::uint32_t straight = here < there ? there - here : here - there;
        return model.wraps_around ? std::min(straight, side - straight) : straight;
    };
    return along(from % model.columns, to % model.columns, model.columns) +
           along(from / model.columns, to / model.columns, model.rows);
}

/// One program for rank 0, nothing for the others.
std::vector<std::deque<sample>> of_rank_0(const mesh_model& model) {
    return std::vector<std::deque<sample>>(model.rows * model.columns);
}

sample store_train(std::uint32_t from, std::uint32_t to, std::uint32_t stores) {
    sample made(0, from, to, std::uint64_t{stores} * 4);
    made.store_bytes = 4;
    return made;
}

ticks total(const std::deque<sample>& all) {
    ticks sum = 0;
    for (const sample& what : all) sum += what.arrived - what.sent;
    return sum;
}

// --- one transaction -----------------------------------------------------------------------------

TEST(mesh_network_test, an_idle_mesh_takes_one_and_a_half_cycles_for_each_hop_and_one_more) {
    for (const bool wraps_around : {false, true}) {
        mesh_model model = epiphany();
        model.wraps_around = wraps_around;
        for (std::uint32_t from = 0; from < 16; ++from) {
            for (std::uint32_t to = 0; to < 16; ++to) {
                const auto expected = static_cast<ticks>(hops(model, from, to) + 1) * 3;
                std::deque<sample> by_event;
                by_event.emplace_back(5, from, to, 8);
                bed_of(model)->deliver(by_event);
                EXPECT_EQ(by_event[0].arrived - 5, expected) << from << " to " << to;

                auto programs = of_rank_0(model);
                programs[from].emplace_back(0, from, to, 4);
                bed_of(model)->copy(programs);
                EXPECT_EQ(programs[from][0].arrived, expected) << from << " to " << to;
            }
        }
    }
}

TEST(mesh_network_test, a_row_first_then_a_column) {
    const mesh_model model = epiphany();
    std::deque<sample> all;
    all.emplace_back(0, 1, 11, 8);  // (0,1) to (2,3)
    const auto bed = bed_of(model);
    bed->deliver(all);
    std::vector<std::string> used;
    for (const link_use& link : bed->wires().links()) {
        if (link.messages == 0) continue;
        used.push_back(link.name);
        EXPECT_EQ(link.messages, 1U);
        EXPECT_EQ(link.bytes, 8U);
        EXPECT_EQ(link.busy, 2);
        EXPECT_EQ(link.waiting, 0);
    }
    EXPECT_THAT(used, ElementsAre("(0,1) east", "(0,1) from events", "(0,2) east", "(0,3) south",
                                  "(1,3) south", "(2,3) into core"));
}

TEST(mesh_network_test, links_are_those_that_the_mesh_has) {
    mesh_model model = epiphany();
    const auto count = [&] {
        std::set<std::string> names;
        for (const link_use& link : make_mesh_network(model)->links()) names.insert(link.name);
        return names.size();
    };
    EXPECT_EQ(count(), 2U * 24 + 16 * 4);  // both ways between neighbours, and four of each core
    model.wraps_around = true;
    EXPECT_EQ(count(), 16U * 8);
    model.columns = 1;
    EXPECT_EQ(count(), 4U * 6);
}

TEST(mesh_network_test, wires_without_latency_deliver_at_once) {
    mesh_model model = epiphany();
    model.entry = 0;
    model.hop = 0;
    std::deque<sample> all;
    all.emplace_back(4, 0, 15, 8);
    all.emplace_back(4, 0, 15, 8);
    bed_of(model)->deliver(all);
    EXPECT_EQ(all[0].arrived, 4);
    EXPECT_EQ(all[1].arrived, 6);
}

TEST(mesh_network_test, a_fine_tick_needs_no_more_room_than_what_is_on_the_way) {
    mesh_model model = epiphany();
    model.rows = 20;
    model.columns = 20;
    model.hop = 1'000'000'000;
    model.slot = 0;  // a tick
    std::deque<sample> all;
    all.emplace_back(0, 0, 399, 800);
    all.emplace_back(0, 5, 399, 800);
    bed_of(model)->deliver(all);
    EXPECT_EQ(all[0].arrived, 38 * model.hop + 3 + 99);
    EXPECT_EQ(all[1].arrived, 33 * model.hop + 3 + 99);
}

// --- trains --------------------------------------------------------------------------------------

TEST(mesh_network_test, a_link_moves_one_transaction_in_a_slot_and_never_idles) {
    mesh_model model = epiphany();
    std::deque<sample> all;
    all.emplace_back(0, 0, 15, 800);
    const auto bed = bed_of(model);
    bed->deliver(all);
    EXPECT_EQ(all[0].arrivals, 1U);
    EXPECT_EQ(all[0].arrived, 7 * 3 + 99 * 2);
    for (const link_use& link : bed->wires().links()) {
        EXPECT_TRUE(link.messages == 0 || link.messages == 100) << link.name;
        EXPECT_LE(link.busy, 200);
    }
}

TEST(mesh_network_test, a_short_store_takes_a_whole_slot) {
    mesh_model model = epiphany();
    auto programs = of_rank_0(model);
    programs[0].push_back(store_train(0, 1, 50));
    const auto bed = bed_of(model);
    bed->copy(programs);
    EXPECT_EQ(programs[0][0].arrived, 6 + 49 * 2);
    EXPECT_EQ(bed->wires().links()[0].messages, 50U);
    EXPECT_EQ(bed->wires().links()[0].bytes, 200U);
}

TEST(mesh_network_test, an_empty_message_is_one_transaction) {
    std::deque<sample> all;
    all.emplace_back(0, 0, 1, 0);
    bed_of(epiphany())->deliver(all);
    EXPECT_EQ(all[0].arrived, 6);
}

TEST(mesh_network_test, the_copy_loop_is_unrolled_and_its_remainder_is_not) {
    mesh_model model = epiphany();
    model.loop_entry = 20;
    model.loop_unroll = 8;
    model.unrolled_store = 3;
    model.remainder_store = 9;
    const auto time_of = [&](std::uint32_t stores) {
        auto programs = of_rank_0(model);
        programs[0].push_back(store_train(0, 1, stores));
        const auto bed = bed_of(model);
        const ticks free_at = bed->copy(programs)[0];
        EXPECT_EQ(programs[0][0].arrived, free_at + 6);
        EXPECT_EQ(bed->wires().stalls(0), 0);
        return free_at;
    };
    for (std::uint32_t n = 1; n <= 40; ++n) {
        const auto remainder = static_cast<ticks>((n - 1) % 8 + 1);
        EXPECT_EQ(time_of(n), 20 + (n - remainder) * 3 + remainder * 9) << n;
    }
    EXPECT_LT(time_of(9), time_of(8));
    model.loop_unroll = 1;
    for (std::uint32_t n = 1; n <= 40; ++n) EXPECT_EQ(time_of(n), 20 + n * 9);  // and no drop
}

TEST(mesh_network_test, a_processor_that_cannot_stall_is_not_suspended) {
    mesh_model model = epiphany();
    model.remainder_store = 10;
    sample few = store_train(0, 15, 3);
    few.arrive = [](engine& host, event&) { host.resume_at(host.rank(0), host.now()); };
    network_bed bed(16, make_mesh_network(model));
    bed.host().run([&](std::uint32_t rank) {
        if (rank != 0) return;
        const std::uint64_t before = bed.host().events_so_far();
        EXPECT_EQ(bed.wires().inject(bed.host(), few), 30);
        EXPECT_EQ(bed.host().events_so_far(), before);
        bed.host().suspend();
        EXPECT_EQ(bed.host().now(), 30 + 21);
    });
}

// --- full queues ---------------------------------------------------------------------------------

TEST(mesh_network_test, stores_faster_than_the_link_stall_and_are_counted) {
    mesh_model model = epiphany();
    model.remainder_store = 1;
    auto programs = of_rank_0(model);
    programs[0].push_back(store_train(0, 3, 41));
    const auto bed = bed_of(model);
    EXPECT_EQ(bed->copy(programs)[0], 1 + 40 * 2);
    EXPECT_EQ(bed->wires().stalls(0), 40);
    EXPECT_EQ(bed->wires().stalls(1), 0);
}

TEST(mesh_network_test, the_time_of_a_copy_is_its_stores_and_its_stalls) {
    mesh_model model = epiphany();
    model.remainder_store = 2;
    auto programs = of_rank_0(model);
    for (std::uint32_t core = 1; core < 16; ++core) {
        programs[core].push_back(store_train(core, 0, 100));
    }
    const auto bed = bed_of(model);
    const std::vector<ticks> ends = bed->copy(programs);
    ticks stalls = 0;
    for (std::uint32_t core = 1; core < 16; ++core) {
        EXPECT_EQ(ends[core], 100 * 2 + bed->wires().stalls(core)) << core;
        stalls += bed->wires().stalls(core);
    }
    // 1,500 transactions into one core, one in a slot: all others wait.
    EXPECT_GE(bed->end(), 1500 * 2);
    EXPECT_GT(stalls, 1500);
}

TEST(mesh_network_test, full_queues_hold_back_the_links_before_them) {
    // Two rows meet in a column that ends at a core: what does not fit waits at its source.
    mesh_model model = epiphany();
    std::deque<sample> all;
    for (std::uint32_t i = 0; i < 60; ++i) {
        all.emplace_back(0, 0, 15, 8);
        all.emplace_back(0, 4, 15, 8);
        all.emplace_back(0, 8, 15, 8);
    }
    const auto bed = bed_of(model);
    bed->deliver(all);
    ticks waits_of_links = 0;
    ticks waits_at_sources = 0;
    for (const link_use& link : bed->wires().links()) {
        const bool is_port = link.name.find("from") != std::string::npos;
        (is_port ? waits_at_sources : waits_of_links) += link.waiting;
    }
    EXPECT_GT(waits_of_links, 0);
    EXPECT_GT(waits_at_sources, waits_of_links);
    // Latency is the way and the waits, for each of them.
    EXPECT_EQ(total(all), 60 * (7 + 6 + 5) * 3 + waits_of_links + waits_at_sources);
}

TEST(mesh_network_test, longer_queues_never_slow_a_crowd_down) {
    const auto end_with = [](std::uint32_t slots) {
        mesh_model model = epiphany();
        model.queue_slots = slots;
        std::deque<sample> all;
        for (std::uint32_t from = 0; from < 16; ++from) all.emplace_back(0, from, 5, 800);
        const auto bed = bed_of(model);
        bed->deliver(all);
        return bed->end();
    };
    EXPECT_LE(end_with(4), end_with(1));
    EXPECT_LE(end_with(64), end_with(4));
}

TEST(mesh_network_test, half_the_bandwidth_is_never_faster) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const auto latency_with = [seed](ticks slot) {
            std::mt19937_64 random(seed);
            mesh_model model = epiphany();
            model.slot = slot;
            std::deque<sample> all;
            for (ticks at = 0; at < 400; at += 1 + static_cast<ticks>(random() % 3)) {
                all.emplace_back(at, random() % 16, random() % 16, 1 + random() % 40);
            }
            const auto bed = bed_of(model);
            bed->deliver(all);
            for (const sample& what : all) EXPECT_EQ(what.arrivals, 1U);
            return std::pair(total(all), bed->end());
        };
        const auto [full, end_of_full] = latency_with(2);
        const auto [half, end_of_half] = latency_with(4);
        EXPECT_LE(full, half) << "seed " << seed;
        EXPECT_LE(end_of_full, end_of_half) << "seed " << seed;
    }
}

// --- DMA -----------------------------------------------------------------------------------------

TEST(mesh_network_test, a_dma_transfer_leaves_the_processor_free) {
    mesh_model model = epiphany();
    model.dma_setup = 600;
    model.dma_per_byte = rate::from_ticks(0.75);
    auto programs = of_rank_0(model);
    programs[0].emplace_back(0, 0, 15, 1000);
    programs[0].emplace_back(0, 0, 15, 16);
    for (sample& what : programs[0]) what.by_dma = true;
    EXPECT_EQ(bed_of(model)->copy(programs)[0], 0);
    EXPECT_EQ(programs[0][0].arrived, 600 + 750 + 21);
    EXPECT_EQ(programs[0][1].arrived, 600 + 750 + 600 + 12 + 21);  // one after the other
}

TEST(mesh_network_test, a_dma_transfer_is_set_up_when_the_last_one_has_gone) {
    mesh_model model = epiphany();
    model.dma_setup = 600;
    model.dma_per_byte = rate::from_ticks(0.75);
    auto programs = of_rank_0(model);
    for (int i = 0; i < 3; ++i) {  // each fits into the queue of its link
        programs[0].emplace_back(0, 0, 15, 16);
        programs[0].back().by_dma = true;
    }
    bed_of(model)->copy(programs);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(programs[0][static_cast<std::size_t>(i)].arrived, (i + 1) * (600 + 12) + 21);
    }
}

TEST(mesh_network_test, stores_pass_a_dma_transfer_that_is_slower_than_the_link) {
    mesh_model model = epiphany();
    model.remainder_store = 5;
    model.dma_per_byte = rate::from_ticks(1);
    auto programs = of_rank_0(model);
    programs[0].emplace_back(0, 0, 3, 8000);
    programs[0][0].by_dma = true;
    programs[0].push_back(store_train(0, 3, 1));
    bed_of(model)->copy(programs);
    EXPECT_EQ(programs[0][1].arrived, 5 + 12);
}

// --- reads ---------------------------------------------------------------------------------------

/// @return how long a read takes, asked at 0 and answered at once.
ticks read_time(const mesh_model& model, std::uint32_t from, std::uint32_t to,
                std::uint64_t bytes) {
    network_bed bed(16, make_mesh_network(model));
    struct query : message {
        network* wires = nullptr;
        std::uint64_t wanted = 0;
    } asked;
    asked.from = from;
    asked.to = to;
    asked.kind = message_class::read_request;
    asked.store_bytes = 4;
    asked.wires = &bed.wires();
    asked.wanted = bytes;
    asked.arrive = [](engine& host, event& due) {
        auto& there = static_cast<query&>(due);
        std::swap(there.from, there.to);
        there.kind = message_class::read_reply;
        there.bytes = there.wanted;
        there.arrive = [](engine& later, event&) { later.resume_at(later.rank(0), later.now()); };
        there.wires->inject_from_event(host, there);
    };
    bed.host().run([&](std::uint32_t rank) {
        if (rank != 0) return;
        EXPECT_EQ(bed.wires().inject(bed.host(), asked), 0);
        bed.host().suspend();
    });
    for (const link_use& link : bed.wires().links()) EXPECT_EQ(link.messages, 0U) << link.name;
    return bed.host().now();
}

TEST(mesh_network_test, a_read_takes_its_time_and_no_write_link) {
    mesh_model model = epiphany();
    model.read_entry = 35;  // odd, so that the two halves are not equal
    model.read_hop = 6;
    for (std::uint32_t to = 0; to < 16; ++to) {
        const auto word = 35 + 6 * static_cast<ticks>(hops(model, 0, to));
        EXPECT_EQ(read_time(model, 0, to, 4), word) << to;
        EXPECT_EQ(read_time(model, 0, to, 12), 3 * word) << to;  // loads wait for each word
    }
}

}  // namespace
}  // namespace selion::machine::sim
