// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <selion/selion.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// What misusing.cpp does wrong with collectives of blocks, and with teams.
namespace {

void mistake_of_strangers(selion::world& world, std::string_view what) {
    if (what == "stranger") {
        const selion::team first = world.split(world.rank() == 0 ? 0 : selion::team::no_colour);
        if (world.rank() != 0) first.barrier();  // site: stranger
    }
    if (what == "strange_exchange") {
        const selion::team first = world.split(world.rank() == 0 ? 0 : selion::team::no_colour);
        const std::vector<int> own(4);
        std::vector<int> all(4);
        if (world.rank() != 0)
            first.exchange(std::span(own), std::span(all));  // site: strange_exchange
    }
    if (what == "strange_gather") {
        const selion::team first = world.split(world.rank() == 0 ? 0 : selion::team::no_colour);
        const auto start = first.split_phase();
        const std::span<int> none;
        if (world.rank() != 0) start.all_gatherv({}, none, {}).get();  // site: strange_gather
    }
    if (what == "strange_scatter") {
        const selion::team first = world.split(world.rank() == 0 ? 0 : selion::team::no_colour);
        std::vector<int> all(4);
        const std::span own = std::span(all).first(1);
        if (world.rank() != 0)
            first.reduce_scatter(all, own, selion::plus);  // site: strange_scatter
    }
    if (what == "strange_members") {
        const selion::team first = world.split(world.rank() == 0 ? 0 : selion::team::no_colour);
        const selion::team_rank members[] = {0};
        if (world.rank() != 0) static_cast<void>(first.subteam(members));  // site: strange_members
    }
    if (what == "strange_split" || what == "strange_lengths" || what == "strange_arrival") {
        const selion::team first = world.split(world.rank() == 0 ? 0 : selion::team::no_colour);
        if (world.rank() == 0) return;
        if (what == "strange_split") static_cast<void>(first.split(0));  // site: strange_split
        if (what == "strange_lengths") {
            static_cast<void>(first.all_gatherv(std::vector(3, 1)));  // site: strange_lengths
        }
        if (what == "strange_arrival") first.arrive();  // site: strange_arrival
    }
    if (what == "moved" || what == "moved_start") {
        selion::team gone = world.split(0);
        selion::split_phase_collectives gone_start = gone.split_phase();
        const selion::team kept = std::move(gone);
        const selion::split_phase_collectives kept_start = std::move(gone_start);
        if (what == "moved") gone.barrier();                    // site: moved
        if (what == "moved_start") gone_start.barrier().get();  // site: moved_start
    }
}

/// Calls of different kinds, of which one consists of others.
void mistake_about_kinds(selion::world& world, std::string_view what) {
    const bool is_odd = world.rank() == 1;
    if (what == "splits" && is_odd) {
        static_cast<void>(world.split(0));  // site: split
    } else if (what == "splits") {
        world.barrier();  // site: no_split
    }
    if (what == "varying" && is_odd) {
        static_cast<void>(world.all_gatherv(std::vector<int>()));  // site: all_gatherv
    } else if (what == "varying") {
        static_cast<void>(world.gatherv(std::vector<int>(1), 0));  // site: gatherv
    }
    if (what == "started_barrier" && is_odd) {
        world.split_phase().barrier().wait();  // site: started_barrier
    } else if (what == "started_barrier") {
        world.split_phase().broadcast(1, 0).wait();  // site: started_broadcast
    }
}

void mistake_about_teams(selion::world& world, std::string_view what) {
    if (what == "split_between") {
        world.arrive();
        static_cast<void>(world.split(0));  // site: split_between
    }
    if (what == "no_room") static_cast<void>(world.split(0));
    if (what == "broken" && world.rank() != 0) {
        try {
            world.with_timeout(std::chrono::milliseconds(10)).barrier();
        } catch (const selion::error&) {
            world.barrier();  // site: broken
        }
    }
    if (what == "between") {
        world.arrive();
        static_cast<void>(world.all_reduce(1, selion::plus));  // site: between
    }
    if (what == "barrier_between") {
        world.arrive();
        world.barrier();  // site: barrier_between
    }
    if (what == "wait_alone") world.wait();  // site: wait_alone
    if (what == "member_99") {
        const selion::team_rank members[] = {0, 99};
        static_cast<void>(world.subteam(members));  // site: member_99
    }
    if (what == "listed_twice") {
        const selion::team_rank members[] = {1, 0, 1};
        static_cast<void>(world.subteam(members));  // site: listed_twice
    }
    if (what == "team_root") {
        const selion::team pair = world.split(world.rank() / 2);
        static_cast<void>(pair.broadcast(1, 2));  // site: team_root
    }
}

void mistake_about_blocks(selion::world& world, std::string_view what) {
    const bool is_odd = world.rank() == 1;
    std::vector<int> values(3 * world.size());
    const std::span all(values);
    if (what == "reduce_root")
        static_cast<void>(world.reduce(1, selion::plus, 99));          // site: reduce_root
    if (what == "gather") world.all_gather(all.first(2), all);         // site: gather
    if (what == "shifted") world.all_gather(all.subspan(1, 3), all);   // site: shifted
    if (what == "uneven") world.exchange(all.first(2), all.first(2));  // site: uneven
    if (what == "unequal") world.exchange(all, all.first(3));          // site: unequal
    if (what == "overlap") {
        values.resize(3 * world.size() + 1);
        const std::span more(values);
        world.exchange(more.first(all.size()), more.last(all.size()));  // site: overlap
    }
    if (what == "own_length") {
        const std::vector<std::size_t> two(world.size(), 2);
        const std::span counts(two);
        values.resize(2 * world.size());
        const auto start = world.split_phase();
        const std::span one = all.first(1);
        auto started = start.all_gatherv(one, std::span(values), counts);  // site: own_length
        started.get();
    }
    if (what == "started_lengths") {
        const std::vector<std::size_t> counts(world.size(), world.rank() == 0 ? 1 : 2);
        std::vector<int> room(counts[0] * world.size());
        const std::vector<int> own(counts[0]);
        auto started =
            world.split_phase().all_gatherv(std::span(own), std::span(room), std::span(counts));
        started.get();
    }
    if (what == "others_block") {
        const std::vector<std::size_t> three(world.size(), 3);
        const std::span counts(three);
        const std::span own = world.rank() == 0 ? all.subspan(3, 3) : all.first(3);
        const auto start = world.split_phase();
        start.scatterv(all, counts, own, 0).get();  // site: others_block
    }
    if (what == "wrapping") {
        std::vector<std::size_t> lengths(world.size());
        lengths[0] = values.size() + 1;
        lengths[1] = SIZE_MAX;
        const std::span<const int> given(values);
        static_cast<void>(world.exchangev(given, std::span(lengths)));  // site: wrapping
    }
    if (what == "lengths" || what == "sum") {
        const std::vector<std::size_t> counts(world.size() + (what == "lengths" ? 1 : 0), 2);
        const std::span<const int> given(values);
        static_cast<void>(world.exchangev(given, std::span(counts)));  // site: counts
    }
    if (what == "scans") {
        if (is_odd) {
            static_cast<void>(world.scan(1, selion::plus));  // site: scan
        } else {
            static_cast<void>(world.exscan(1, selion::plus, 0));  // site: exscan
        }
    }
    if (what == "gather_roots") {
        static_cast<void>(world.gather(1, is_odd ? 1 : 0));  // site: gather_roots
    }
}

/// Blocks that differ in length.
void mistake_about_varying(selion::world& world, std::string_view what) {
    std::vector<int> values(3 * world.size());
    if (what == "gatherv_root")
        static_cast<void>(world.gatherv(std::vector<int>(), 99));  // site: gatherv_root
    if (what == "scatterv_root") {
        const std::vector<std::size_t> counts(world.size(), 3);
        static_cast<void>(world.scatterv(values, counts, 99));  // site: scatterv_root
    }
    if (what == "varying_overlap") {
        const std::vector<std::size_t> two(world.size(), 2);
        const std::span counts(two);
        values.resize(2 * world.size() + 1);
        const std::span more(values);
        const std::span later = more.last(2 * world.size());
        const auto start = world.split_phase();
        const std::span first = more.first(later.size());
        start.exchangev(first, counts, later, counts).get();  // site: varying_overlap
    }
}

double add(double one, double other) { return one + other; }
double multiply(double one, double other) { return one * other; }

/// Calls that agree in all that their descriptions tell.
void mistake_about_types(selion::world& world, std::string_view what) {
    const bool is_odd = world.rank() == 1;
    const std::vector<long> whole(world.size());
    const std::vector<double> broken(world.size());
    std::vector<long> wholes(world.size());
    std::vector<double> brokens(world.size());
    if (what == "broadcast_types" && is_odd) {
        static_cast<void>(world.broadcast(1L, 0));  // site: broadcast_long
    } else if (what == "broadcast_types") {
        static_cast<void>(world.broadcast(1.5, 0));  // site: broadcast_double
    }
    if (what == "exchange_types" && is_odd) {
        world.exchange(whole, wholes);  // site: exchange_long
    } else if (what == "exchange_types") {
        world.exchange(broken, brokens);  // site: exchange_double
    }
    if (what == "functions")
        static_cast<void>(world.all_reduce(1.5, is_odd ? add : multiply));  // site: functions
    if (what == "modes") {
        const selion::team all = world.with(is_odd ? selion::strict : selion::loose);
        static_cast<void>(all.all_reduce(1, selion::plus));  // site: modes
    }
    const auto start = world.split_phase();
    if (what == "started_types") {
        is_odd ? start.broadcast(wholes, 0).get()    // site: started_types
               : start.broadcast(brokens, 0).get();  // site: started_types
    }
    if (what == "started_functions") {
        static_cast<void>(start.all_reduce(1.5, is_odd ? add : multiply).get());
    }
    if (what == "started_modes") {
        const selion::team all = world.with(is_odd ? selion::strict : selion::loose);
        static_cast<void>(all.split_phase().all_reduce(1, selion::plus).get());
    }
    if (what == "bytes") {  // no mistake: bytes may be anything
        double number = 1.5;
        const std::span one(&number, 1);
        if (is_odd) {
            world.broadcast(std::as_writable_bytes(one), 0);
        } else {
            world.broadcast(one, 0);
        }
        const auto sum = [](double left, double right) { return left + right; };
        static_cast<void>(world.all_reduce(number, sum));
        static_cast<void>(world.all_reduce(number, add));
        static_cast<void>(start.all_reduce(number, &add).get());
        static_cast<void>(world.all_reduce(number, is_odd ? &add : add));
    }
}

}  // namespace
