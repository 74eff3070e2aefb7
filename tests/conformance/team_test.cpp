// SPDX-License-Identifier: Apache-2.0
/// Teams: split by colour and key, by a list, by locality; disjoint, overlapping, one within
/// another; made and let go many times.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

/// Who belongs to a team, as every member should see it.
void expect_members(selion::world& world, spmd::test_run& test, const selion::team& team,
                    const std::vector<std::uint32_t>& ranks) {
    test.equal(team.size(), static_cast<std::uint32_t>(ranks.size()));
    for (std::uint32_t member = 0; member < ranks.size(); ++member) {
        test.equal(std::uint32_t{team.world_rank(member)}, ranks[member]);
        const auto found = team.rank_of(ranks[member]);
        test.that(found && std::uint32_t{*found} == member, "rank_of undoes world_rank");
    }
    test.equal(std::uint32_t{team.world_rank(team.rank())}, std::uint32_t{world.rank()});
}

/// Every kind of collective, with values that tell who has given them.
void use(selion::world& world, spmd::test_run& test, const selion::team& team,
         std::size_t count = 5) {
    const std::uint32_t size = team.size();
    const std::uint64_t rank = world.rank();
    std::vector<std::uint64_t> ranks(size);
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
        ranks[i] = team.world_rank(i);
        sum += ranks[i];
    }
    team.barrier();
    test.that(team.all_gather(rank) == ranks, "all_gather of a team");
    const std::uint32_t root = size / 2;
    std::vector<std::uint64_t> data(count, rank);
    team.broadcast(std::span(data), root);
    test.that(data == std::vector<std::uint64_t>(count, ranks[root]), "broadcast of a team");
    std::ranges::fill(data, rank);
    team.all_reduce(std::span(data), selion::plus);
    test.that(data == std::vector<std::uint64_t>(count, sum), "all_reduce of a team");
    const auto at_root = team.reduce(rank, selion::maximum, root);
    test.equal(at_root.has_value(), team.rank() == root);
    if (at_root) test.equal(*at_root, *std::ranges::max_element(ranks));
    std::vector<std::uint64_t> to_each(size * count);
    for (std::uint32_t i = 0; i < size; ++i) {
        std::fill_n(to_each.begin() + static_cast<std::ptrdiff_t>(i * count), count,
                    rank * 1000 + ranks[i]);
    }
    std::vector<std::uint64_t> from_each(size * count);
    team.exchange(to_each, std::span(from_each));
    for (std::uint32_t i = 0; i < size * count; ++i) {
        test.equal(from_each[i], ranks[i / count] * 1000 + rank);
    }
    team.sync();
}

SPMD_TEST(team, colour_and_key) {
    const std::uint32_t rank = world.rank();
    const selion::team thirds = world.split(rank % 3, -std::int64_t{rank});
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t other = world.size(); other-- > 0;) {
        if (other % 3 == rank % 3) ranks.push_back(other);
    }
    expect_members(world, test, thirds, ranks);
    use(world, test, thirds);
    use(world, test, thirds, 5000);
}

SPMD_TEST(team, no_colour_makes_no_member) {
    const bool joins = world.rank() % 2 == 0;
    const selion::team even = world.split(joins ? 7 : selion::team::no_colour);
    test.equal(even.is_member(), joins);
    test.equal(even.size(), joins ? (world.size() + 1) / 2 : 0);
    if (joins) use(world, test, even);
}

SPMD_TEST(team, of_a_list) {
    std::vector<selion::team_rank> last_first;
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = world.size(); rank-- > world.size() / 3;) {
        last_first.push_back(rank);
        ranks.push_back(rank);
    }
    const selion::team some = world.subteam(last_first);
    test.equal(some.is_member(), world.rank() >= world.size() / 3);
    if (!some.is_member()) return;
    expect_members(world, test, some, ranks);
    use(world, test, some);
}

/// Rows and columns of a square overlap in one rank each.
SPMD_TEST(team, overlapping) {
    const std::uint32_t rank = world.rank();
    const std::uint32_t width = world.size() >= 9 ? 3 : 2;
    const selion::team row = world.split(rank / width);
    const selion::team column = world.split(rank % width);
    for (int turn = 0; turn < 5; ++turn) {
        use(world, test, row);
        use(world, test, turn % 2 == 0 ? column : world);
    }
    const std::uint32_t all = column.all_reduce(row.all_reduce(1u, selion::plus), selion::plus);
    if (world.size() % width == 0) test.equal(all, world.size());
}

/// Members of different teams do not wait for each other: a rank may be far ahead in one.
SPMD_TEST(team, disjoint_teams_run_apart) {
    const bool is_early = world.rank() < (world.size() + 1) / 2;
    const selion::team half = world.split(is_early ? 0 : 1);
    for (int turn = 0; turn < (is_early ? 200 : 20); ++turn) {
        test.equal(half.all_reduce(1u, selion::plus), half.size());
    }
    world.barrier();
}

SPMD_TEST(team, moves_away) {
    selion::team first = world.split(0, -std::int64_t{world.rank()});
    selion::team second = std::move(first);
    test.equal(second.size(), world.size());
    selion::team third = world.split(world.rank() % 2);
    third = std::move(second);
    use(world, test, third);
    selion::team all = world;
    const selion::team same = std::move(all);
    test.that(all.is_member(), "the team of all ranks stays");
    for (const selion::team* const gone : {&first, &second}) {
        test.that(!gone->is_member(), "a handle that has been moved from is empty");
        test.equal(gone->size(), 0u);
        test.that(!gone->rank_of(0), "it has no members");
    }
    use(world, test, same);
}

SPMD_TEST(team, within_a_team) {
    const selion::team half = world.split(world.rank() % 2);
    const selion::team quarter = half.split(half.rank() % 2);
    use(world, test, quarter);
    use(world, test, half);
    test.that(quarter.size() <= half.size(), "a part is no larger than the whole");
    const selion::team alone = quarter.split(quarter.rank());
    test.equal(alone.size(), 1u);
    use(world, test, alone);
}

SPMD_TEST(team, locality) {
    for (const auto where : {selion::locality::process, selion::locality::cache,
                             selion::locality::socket, selion::locality::node}) {
        const selion::team near = world.split(where);
        test.that(near.rank_of(world.rank()).has_value(), "a rank is near itself");
        use(world, test, near);
    }
}

/// One member puts to a rank that may be on another host, all meet, and another one reads it there.
SPMD_TEST(team, barrier_completes_what_goes_to_others) {
    constexpr std::size_t count = 256 * 1024;
    const selion::team near = world.split(selion::locality::node);
    const std::uint32_t far = (near.world_rank(near.size() - 1) + 1) % world.size();
    spmd::symmetric_array<std::uint64_t> block(world, count);
    std::vector<std::uint64_t> news(count);
    // In virtual time one round is like the other.
    const std::uint64_t rounds = world.machine().capabilities.real_time ? 10 : 2;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        if (near.rank() == 0) {
            std::ranges::fill(news, round);
            selion::put(block.at(far), std::span<const std::uint64_t>(news));
        }
        near.barrier();
        test.equal(selion::get(block.at(far, count - 1)), round);
        near.barrier();
    }
    world.barrier();
}

/// Handles are copied, moved and let go in any order; memory is used again.
SPMD_TEST(team, many_come_and_go) {
    spmd::end_teams(world);
    const std::uint64_t before = world.heap().runtime_bytes;
    const int turns = world.size() > 8 ? 20 : 100;
    for (int turn = 0; turn < turns; ++turn) {
        std::optional<selion::team> team = world.split(world.rank() % 2);
        const selion::team copy = *team;
        selion::team moved = std::move(*team);
        team.reset();
        test.equal(moved.all_reduce(1u, selion::plus), copy.size());
    }
    spmd::end_teams(world);
    test.that(world.heap().runtime_bytes <= before, "teams that are gone hold no memory");
}

/// In heaps that teams have filled there is room as soon as all have let them go, whoever of the
/// members hears of it first.
SPMD_TEST(team, full_heaps_have_room_when_teams_are_gone) {
    if (!has_small_heap(test, world)) return;
    for (std::uint32_t round = 0; round < test.rounds(20, 3); ++round) {
        std::vector<selion::team> teams;
        bool is_full = false;
        while (!is_full) {
            try {
                teams.push_back(world.split(0));
            } catch (const selion::error& trouble) {
                is_full = trouble.code() == selion::status::out_of_memory;
            }
        }
        test.at_least(teams.size(), std::size_t{4});
        const std::size_t bytes = teams.size() / 2 * 64 * 1024;
        teams.clear();
        world.barrier();
        if (round % 2 == 0) {
            test.equal(world.split(0).all_reduce(1u, selion::plus), world.size());
        } else {
            const spmd::symmetric_array<std::byte> room(world, bytes);
        }
    }
    spmd::end_teams(world);
}

/// Also one that works for no rank: it waits for nobody.
SPMD_TEST(team, is_let_go_by_any_thread) {
    spmd::end_teams(world);
    const std::uint64_t before = world.heap().runtime_bytes;
    for (std::uint32_t round = 0; round < test.rounds(100, 10); ++round) {
        selion::team last = world.split(world.rank() % 2);
        const std::jthread other([kept = std::move(last)] {});
        const selion::team next = world.split(0);
        test.equal(next.all_reduce(1u, selion::plus), world.size());
    }
    spmd::end_teams(world);
    test.that(world.heap().runtime_bytes <= before, "teams that are gone hold no memory");
}

SPMD_TEST(team, more_than_a_few) {
    std::vector<selion::team> teams;
    const std::uint32_t many = world.size() > 8 ? 8 : 50;
    for (std::uint32_t i = 0; i < many; ++i) teams.push_back(world.split(world.rank() % (i + 1)));
    for (const selion::team& team : teams) {
        test.equal(team.all_reduce(1u, selion::plus), team.size());
    }
}

struct long_value {
    std::array<long, 8192> all{};
};

/// What the root's call leaves on its stack is overwritten.
[[maybe_unused, gnu::noinline]] void use_the_stack() {
    volatile long other[8192];
    for (volatile long& one : other) one = 9;
}

/// Member 1 is late, and may read what the root has given when the root's call has ended in an
/// error. Where calls are compared first it comes to that comparison, and ends in an error too, for
/// which it waits to its limit.
[[maybe_unused]] void broadcast_to_one_who_is_late(selion::world& world, spmd::test_run& test) {
    const selion::team pair = world.split(world.rank() / 2);
    const bool is_late = pair.rank() == 1;
    if (is_late) std::this_thread::sleep_for(std::chrono::milliseconds(60));
    long_value value;
    value.all.fill(is_late ? 0 : 7);
    try {
        value =
            pair.with_timeout(std::chrono::milliseconds(is_late ? 200 : 20)).broadcast(value, 0);
    } catch (const selion::error& trouble) {
        test.that(trouble.code() == selion::status::timed_out, "it has taken too long");
        value.all.fill(7);
    }
    use_the_stack();
    test.equal(std::ranges::count(value.all, 7), std::ptrdiff_t{8192});
    world.barrier();
}

/// Whether it is this rank's own error about a wait.
bool tells_of(const selion::world& world, const selion::error& trouble) {
    const std::string start =
        "rank " + std::to_string(std::uint32_t{world.rank()}) + " has waited too long ";
    return trouble.where().rank == std::uint32_t{world.rank()} &&
           std::string_view(trouble.what()).starts_with(start) &&
           std::string_view(trouble.what()).find(" to end within ") != std::string_view::npos;
}

/// More than messages under way may hold, for a member that does not come before it has slept.
/// @return whether all roots have timed out
[[maybe_unused]] bool roots_time_out(selion::world& world, spmd::test_run& test,
                                     std::chrono::milliseconds nap) {
    const selion::team pair = world.split(world.rank() / 2);
    pair.choose(selion::collective_kind::broadcast,
                selion::collective_choice{selion::collective_way::messages,
                                          {.algorithm = selion::schedule_algorithm::flat}});
    bool has_timed_out = pair.rank() != 0u;  // or is no root
    if (pair.rank() == 0u) {
        std::vector<std::byte> data(selion::detail::most_message_bytes() / 2 * 3);
        try {
            pair.with_timeout(std::chrono::milliseconds(30)).broadcast(std::span(data), 0);
        } catch (const selion::error& trouble) {
            has_timed_out = trouble.code() == selion::status::timed_out;
            test.that(tells_of(world, trouble), trouble.what());
            if (trouble.where().operation == "send") {
                test.at_least(trouble.where().bytes, std::size_t{1});
                test.equal(trouble.where().peer, std::optional(std::uint32_t{world.rank()} + 1));
            }
        }
    } else {
        std::this_thread::sleep_for(nap);  // it takes nothing
    }
    return world.all_reduce(has_timed_out ? 1 : 0, selion::minimum) == 1;
}

[[maybe_unused]] void broadcast_more_than_there_is_room_for(selion::world& world,
                                                            spmd::test_run& test) {
    // On a slow host a root may not come to look at the time before its member has slept.
    for (const int nap_ms : {200, 2'000, 10'000}) {
        if (roots_time_out(world, test, std::chrono::milliseconds(nap_ms))) return;
    }
    test.fail("nobody takes it in time");
}

/// One member does not come: the others get an error in time, and other teams are as before.
SPMD_TEST(team, collectives_can_time_out) {
    if (world.size() == 1) return;
#if !defined(__SANITIZE_ADDRESS__)  // which finds the memory that is never given back
    // What a team that has failed has sent over a network is kept in the heap, which the heap's
    // tests would find.
    const std::string& kind = world.machine().kind;
    if ((kind == "threads" || kind == "processes") && world.size() % 2 == 0) {
        broadcast_to_one_who_is_late(world, test);
        // One that shares its thread with the root makes room before the root looks at the time,
        // and one that shares its processor may.
        if (world.machine().carriers == world.size() &&
            world.size() <= std::thread::hardware_concurrency()) {
            broadcast_more_than_there_is_room_for(world, test);
        }
    }
#endif
    for (int which = 0; which < 3; ++which) {
        const selion::team all = world.split(0);
        bool has_timed_out = false;
        if (world.rank() != 0) {
            const selion::team limited = all.with_timeout(std::chrono::milliseconds(30));
            try {
                if (which == 0) limited.barrier();
                if (which == 1) static_cast<void>(limited.all_reduce(1, selion::plus));
                if (which == 2) static_cast<void>(limited.broadcast(1, 0));
            } catch (const selion::error& trouble) {
                has_timed_out = trouble.code() == selion::status::timed_out;
                test.that(tells_of(world, trouble), trouble.what());
            }
        }
        test.equal(has_timed_out, world.rank() != 0);
        const selion::team limited = world.with_timeout(std::chrono::seconds(100));
        test.equal(limited.all_reduce(1u, selion::plus), world.size());
        limited.barrier();
    }
}

}  // namespace
