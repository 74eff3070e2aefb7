// SPDX-License-Identifier: Apache-2.0
// outliving HOW VICTIMS NUMBER: the ranks VICTIMS ("2" or "2,3") die of what the test does to them,
// and the others go on. HOW is "pending": each survivor waits in its own way for the first victim,
// which calls nothing any more, the first one in the way of that NUMBER; or "meet": rank 0
// looks for those who live once one victim is dead, the others once all are; or "touch": each
// survivor hears of the death in its own way, and then wants the victim's memory, which it maps; or
// "apart": rank 0 waits in a collective of a team that loses nobody, whose other member has heard
// of the death and looks for those who live; or "storm": all do everything with everybody, and
// NUMBER times more once somebody has died.

#include <unistd.h>
#include <selion/selion.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t long_count = 100'000;
using numbers = selion::global_ptr<std::uint64_t>;
using signals = selion::global_ptr<selion::signal>;

struct places {
    numbers data;
    signals never;
};

void say(const std::string& line) {
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::abort();
}

std::string name_of(const selion::world& world) {
    return "rank " + std::to_string(world.rank()) + " ";
}

/// @return the rank that is dead; nothing: it was not noticed.
std::optional<std::uint32_t> death_in(const std::function<void()>& action) {
    try {
        action();
    } catch (const selion::error& trouble) {
        if (trouble.code() != selion::status::rank_dead) throw;
        return trouble.where().peer;
    }
    return std::nullopt;
}

struct attempt {
    std::string_view what;
    std::function<void(selion::world&, const places&, std::uint32_t victim)> action;
};

/// What ends only by the victim's doing, or never.
const std::array<attempt, 10> attempts{{
    {"wait_until",
     [](selion::world&, const places& at, std::uint32_t) { selion::wait_until(at.never, 1); }},
    {"barrier", [](selion::world& world, const places&, std::uint32_t) { world.barrier(); }},
    {"rpc",
     [](selion::world&, const places&, std::uint32_t victim) {
         static_cast<void>(selion::rpc(victim, [] { return 1; }).get());
     }},
    {"get",
     [](selion::world&, const places& at, std::uint32_t victim) {
         while (true) static_cast<void>(selion::get(at.data.on(victim)));
     }},
    {"long get",
     [](selion::world&, const places& at, std::uint32_t victim) {
         std::vector<std::uint64_t> room(long_count);
         while (true) selion::get(std::span(room), at.data.on(victim));
     }},
    {"put and quiet",
     [](selion::world&, const places& at, std::uint32_t victim) {
         while (true) {
             selion::put(at.data.on(victim), 1);
             selion::quiet();
         }
     }},
    {"started get",
     [](selion::world& world, const places& at, std::uint32_t victim) {
         std::vector<std::uint64_t> room(10);
         while (true) {
             selion::counter done;
             selion::get(std::span(room), at.data.on(victim), done);
             const auto dead = death_in([&] { done.wait(1); });
             if (!dead) continue;
             // Once the death is acknowledged nothing is missing any more.
             static_cast<void>(world.dead_ranks());
             done.wait(1);
             throw selion::error(selion::status::rank_dead, "again", {.peer = *dead});
         }
     }},
    {"atomic",
     [](selion::world&, const places& at, std::uint32_t victim) {
         while (true) static_cast<void>(selion::fetch_add(at.data.on(victim), 1));
     }},
    {"started all_reduce",
     [](selion::world& world, const places&, std::uint32_t) {
         std::uint64_t one = 1;
         world.split_phase().all_reduce(std::span(&one, 1), selion::plus).get();
     }},
    {"messages",
     [](selion::world&, const places&, std::uint32_t victim) {
         while (true) selion::rpc_oneway(victim, [](std::uint64_t) {}, std::uint64_t{1});
     }},
}};

/// The survivors make a team and use it.
bool go_on(selion::world& world, const places& at, std::size_t expected_dead) {
    std::vector<selion::rank_id> dead = world.dead_ranks();
    selion::team living = world.survivors();
    while (dead.size() < expected_dead) {
        dead = world.dead_ranks();
        living = world.survivors();
    }
    const auto sum = living.all_reduce(std::uint64_t{1} << world.rank(), selion::plus);
    std::uint64_t expected = (std::uint64_t{1} << world.size()) - 1;
    for (const selion::rank_id one : dead) expected -= std::uint64_t{1} << one;
    // Whoever lives is reached as ever, in order.
    const std::uint32_t after = (living.rank() + 1) % living.size();
    const std::uint32_t neighbour = living.world_rank(after);
    for (std::uint64_t i = 1; i <= 1000; ++i) selion::put(at.data.on(neighbour), i);
    selion::quiet();
    living.barrier();
    const std::uint64_t last = selion::get(at.data.on(world.rank()));
    const int answer = selion::rpc(neighbour, [] { return 7; }).get();
    living.barrier();
    say(name_of(world) + "goes on with " + std::to_string(living.size()) + "\n");
    return sum == expected && last == 1000 && answer == 7;
}

bool wait_for_victim(selion::world& world, const places& at,
                     const std::vector<std::uint32_t>& victims, std::size_t first) {
    const std::uint32_t victim = victims.front();
    std::size_t number = 0;
    for (std::uint32_t rank = 0; rank < world.rank(); ++rank) {
        number += std::ranges::find(victims, rank) == victims.end() ? 1 : 0;
    }
    const attempt& own = attempts[(number + first) % attempts.size()];
    const auto dead = death_in([&] { own.action(world, at, victim); });
    say(name_of(world) + std::string(own.what) + ": " +
        (dead ? "rank " + std::to_string(*dead) + " is dead" : "nothing noticed") + "\n");
    // From now on nothing that wants it waits.
    const std::array<std::function<void()>, 5> later{
        [&] { static_cast<void>(selion::get(at.data.on(victim))); },
        [&] { selion::put(at.data.on(victim), 1); },
        [&] { static_cast<void>(selion::rpc(victim, [] { return 1; }).get()); },
        [&] { selion::quiet(victim); },
        [&] { world.barrier(); },
    };
    bool is_right = dead.has_value();
    for (const auto& action : later) {
        // Of several victims each is noticed for itself.
        while (world.dead_ranks().size() < victims.size()) selion::progress();
        const bool is_noticed = death_in(action).has_value();
        if (!is_noticed) say(name_of(world) + "does something with a dead rank\n");
        is_right = is_noticed && is_right;
    }
    return is_right;
}

/// Ways to be told of a death, none of which asks who is dead.
const std::array<attempt, 4> ways_to_be_told{{
    {"rpc",
     [](selion::world&, const places&, std::uint32_t victim) {
         static_cast<void>(selion::rpc(victim, [] { return 1; }).get());
     }},
    {"progress",
     [](selion::world&, const places& at, std::uint32_t victim) {
         while (true) {
             static_cast<void>(selion::get(at.data.on(victim)));
             selion::progress();
         }
     }},
    {"quiet",
     [](selion::world&, const places&, std::uint32_t) {
         while (true) selion::quiet();
     }},
    {"test",
     [](selion::world&, const places&, std::uint32_t) {
         selion::counter never;
         while (!never.test(1)) {
         }
     }},
}};

/// Memory of a dead rank of the own host is still there, and is not touched by who has been told.
bool touch_memory(selion::world& world, const places& at,
                  const std::vector<std::uint32_t>& victims) {
    const std::uint32_t victim = victims.front();
    const std::size_t number = world.rank() - (victim < world.rank() ? 1 : 0);
    const attempt& own = ways_to_be_told[number % ways_to_be_told.size()];
    const auto dead = death_in([&] { own.action(world, at, victim); });
    const std::array<attempt, 4> touches{{
        {"get", [](selion::world&, const places& in,
                   std::uint32_t who) { static_cast<void>(selion::get(in.data.on(who))); }},
        {"put", [](selion::world&, const places& in,
                   std::uint32_t who) { selion::put(in.data.on(who), 1); }},
        {"fetch_add",
         [](selion::world&, const places& in, std::uint32_t who) {
             static_cast<void>(selion::fetch_add(in.data.on(who), 1));
         }},
        {"notify",
         [](selion::world&, const places& in, std::uint32_t who) {
             selion::notify(in.never.on(who), selion::signal_add(1));
         }},
    }};
    bool is_right = dead == victim;
    for (const attempt& one : touches) {
        if (death_in([&] { one.action(world, at, victim); }) == victim) continue;
        say(name_of(world) + "told by " + std::string(own.what) + ": " + std::string(one.what) +
            " succeeds\n");
        is_right = false;
    }
    return is_right;
}

/// Rank 0 hears of the second death while it waits for the others, who know of both.
bool meet_apart(selion::world& world, const places& at, std::size_t expected_dead) {
    bool is_right = true;
    if (world.rank() == 0) {
        is_right = death_in([&] { selion::wait_until(at.never, 1); }).has_value();
        is_right = world.dead_ranks().size() == 1 && is_right;
        say("rank 0 knows of one\n");
    } else {
        while (world.dead_ranks().size() < expected_dead) selion::progress();
    }
    const selion::team living = world.survivors();
    const auto dead = death_in([] { selion::quiet(); });
    if (dead) say(name_of(world) + "is sent back by rank " + std::to_string(*dead) + "\n");
    return is_right && !dead && living.size() == world.size() - expected_dead;
}

/// @param half even ranks, or odd ones.
bool wait_apart(selion::world& world, const places& at, selion::team& half, std::uint32_t victim) {
    if (world.rank() != 0) return death_in([&] { selion::wait_until(at.never, 1); }) == victim;
    const auto dead =
        death_in([&] { static_cast<void>(half.all_reduce(std::uint64_t{1}, selion::plus)); });
    say("rank 0 hears of rank " + std::to_string(dead.value_or(0)) + "\n");
    return dead == victim;
}

/// One round of everything with everybody of a team.
void storm(selion::team& all, const places& at, std::uint64_t round) {
    std::vector<std::uint64_t> room(round % 8 == 0 ? long_count : 50);
    for (std::uint32_t i = 0; i < all.size(); ++i) {
        const std::uint32_t rank = all.world_rank((all.rank() + i) % all.size());
        selion::put(at.data.on(rank), round);
        selion::get(std::span(room), at.data.on(rank));
        static_cast<void>(selion::fetch_add(at.data.on(rank), 1));
        const std::span<const std::uint64_t> some(room.data(), 50);
        static_cast<void>(selion::rpc(
                              rank, [](std::span<const std::uint64_t> got) { return got[0]; }, some)
                              .get());
        selion::rpc_oneway(rank, [](std::uint64_t) {}, round);
        if (room.size() == long_count) {
            const auto many = [](std::span<const std::uint64_t> got) { return got.size(); };
            if (selion::rpc(rank, many, room).get() != long_count) std::abort();
        }
    }
    selion::quiet();
    const auto sum = all.all_reduce(std::uint64_t{1}, selion::plus);
    if (sum != all.size()) std::abort();
}

bool storm_on(selion::world& world, const places& at, std::uint64_t rounds) {
    selion::team all = world;
    std::uint64_t after = 0;
    for (std::uint64_t round = 0; after < rounds; ++round) {
        const auto dead = death_in([&] { storm(all, at, round); });
        if (dead) {
            static_cast<void>(world.dead_ranks());
            all = world.survivors();
            after = 0;
        } else if (all.size() < world.size()) {
            ++after;
        }
    }
    say(name_of(world) + "goes on with " + std::to_string(all.size()) + "\n");
    say(name_of(world) + "is content\n");
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view how = argc > 1 ? argv[1] : "";
    std::vector<std::uint32_t> victims;
    std::istringstream list(argc > 2 ? argv[2] : "");
    for (std::string one; std::getline(list, one, ',');) {
        victims.push_back(static_cast<std::uint32_t>(std::stoul(one)));
    }
    const std::uint64_t number = argc > 3 ? std::stoul(argv[3]) : 0;
    return selion::run(argc, argv, [&](selion::world& world) {
        const places at{selion::allocate<std::uint64_t>(world, long_count),
                        selion::allocate<selion::signal>(world, 1)};
        selion::team half = how == "apart" ? world.split(world.rank() % 2) : selion::team(world);
        world.barrier();
        // Whoever has heard this of all knows that nobody is in the barrier any more.
        say("rank " + std::to_string(world.rank()) + " process " + std::to_string(getpid()) + "\n");
        if (how == "storm") return storm_on(world, at, number) ? 0 : 1;
        if (std::ranges::find(victims, std::uint32_t{world.rank()}) != victims.end()) {
            say("dying\n");
            while (true) usleep(1000);  // only so that the machine has time for the rest
        }
        bool is_right = how == "meet"    ? meet_apart(world, at, victims.size())
                        : how == "touch" ? touch_memory(world, at, victims)
                        : how == "apart" ? wait_apart(world, at, half, victims.front())
                                         : wait_for_victim(world, at, victims, number);
        is_right = go_on(world, at, victims.size()) && is_right;
        say(name_of(world) + (is_right ? "is content\n" : "is not content\n"));
        return is_right ? 0 : 1;
    });
}
