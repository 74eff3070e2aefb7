// SPDX-License-Identifier: Apache-2.0
// A member of a team gives up a collective and goes; others come to it late, or never.
//   test_late_members data       what it has lent to a late member is still there
//   test_late_members message    a late member sends it what it does not want any more
//   test_late_members signals    memory of its team may be used again when no signal can come
//   test_late_members arrivals   the same of a split barrier that nobody waits for
// Prints what went wrong.
#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <string_view>
#include <vector>

#include <selion/selion.hpp>

namespace {

using namespace std::chrono_literals;

void compute_for_long() {
    for (int i = 0; i < 1000; ++i) selion::charge(selion::flops(100'000));
}

/// Rank 0 lends a block that rank 1 reads when rank 0's function has returned.
void lend_to_late_member(const selion::world& world) {
    const selion::team pair = world.split(world.rank() < 2 ? 0 : 1);
    if (world.rank() >= 2) return;
    pair.choose(selion::collective_kind::broadcast,
                selion::collective_choice{selion::collective_way::lines,
                                          {.algorithm = selion::schedule_algorithm::flat}});
    static std::array<std::vector<int>, 2> all;  // outlives the ranks
    std::vector<int>& own = all[world.rank()];
    own.assign(4000, world.rank() == 0 ? 7 : 0);
    pair.broadcast(std::span(own), 0);
    if (world.rank() == 1) compute_for_long();
    try {
        pair.with_timeout(world.rank() == 0 ? selion::time_limit(100us) : selion::time_limit(10s))
            .broadcast(std::span(own), 0);
    } catch (const selion::error&) {
        if (world.rank() == 1) std::printf("rank 1 has got nothing\n");
        return;
    }
    for (const int element : own) {
        if (element != 7) return static_cast<void>(std::printf("rank 1 has got %d\n", element));
    }
}

void send_to_who_has_gone(const selion::world& world) {
    const selion::team all = world.split(0);
    if (world.rank() == 1) compute_for_long();
    try {
        static_cast<void>(all.with_timeout(world.rank() == 0 ? selion::time_limit(100us)
                                                             : selion::time_limit(100ms))
                              .all_gather(world.rank()));
    } catch (const selion::error&) {  // as the others in their turn
    }
}

/// A barrier of a team may let nobody out before all have come, also where its memory was another
/// team's before.
void use_blocks_again(const selion::world& world, bool splits) {
    constexpr int rounds = 100;
    constexpr int barriers = 6;
    static std::array<std::uint32_t, rounds * barriers> come;  // ranks take turns
    std::mt19937 choices(77 + world.rank());
    std::vector<selion::team_rank> members;
    for (std::uint32_t i = 0; i < world.size(); ++i) members.push_back(3 * i % world.size());
    int early = 0;
    for (int round = 0; round < rounds; ++round) {
        {
            selion::team all = world.subteam(members);
            for (int i = 0; i < barriers; ++i) {
                selion::charge(selion::flops(choices() % 20'000));
                std::uint32_t& here = come[static_cast<std::size_t>(barriers * round + i)];
                ++here;
                all.barrier();
                if (here != world.size()) ++early;
            }
            try {
                if (splits) {
                    all.arrive();
                } else {
                    all.with_timeout(100ns).barrier();
                }
            } catch (const selion::error&) {  // not all were there in time
            }
        }
        for (int i = 0; i < 2; ++i) world.barrier();
        static_cast<void>(world.split(0));
        for (int i = 0; i < 2; ++i) world.barrier();
    }
    if (early != 0) {
        std::printf("rank %u has left %d barriers early\n", std::uint32_t{world.rank()}, early);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view how = argc > 1 ? argv[1] : "data";
    return selion::run(argc, argv, [&](selion::world& world) {
        if (how == "data") lend_to_late_member(world);
        if (how == "message") send_to_who_has_gone(world);
        if (how == "signals") use_blocks_again(world, false);
        if (how == "arrivals") use_blocks_again(world, true);
    });
}
