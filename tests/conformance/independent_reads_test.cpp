// SPDX-License-Identifier: Apache-2.0
/// Independent reads of independent writes: do two ranks agree which of two others wrote first?
/// Ranks play in fours, all fours at the same time. A raises x, B raises y; C reads x and then y,
/// D reads y and then x, until both have seen the last values.
#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

enum player : std::uint32_t { a, b, c, d, players };

/// What a reader has seen in two reads that follow each other.
struct look {
    std::uint64_t x;
    std::uint64_t y;

    bool operator==(const look&) const = default;
};

/// Who owns the places; on machines with a network they decide whose reads are quick.
struct owners {
    player x;
    player y;
};
constexpr std::array<owners, 4> all_owners{{{a, b}, {c, d}, {d, c}, {a, a}}};

/// Whether there is a look of C with a newer x and an older y than a look of D: then C has seen a
/// raise of x and not yet one of y, and D the latter and not yet the former.
bool contradict(std::span<const look> of_c, std::span<const look> of_d) {
    return std::ranges::any_of(of_c, [&](const look& one) {
        // Places never go back: of D's looks with an older x the last one has the newest y.
        const auto newer =
            std::ranges::partition_point(of_d, [&](const look& other) { return other.x < one.x; });
        return newer != of_d.begin() && std::prev(newer)->y > one.y;
    });
}

class game {
public:
    game(spmd::test_run& test, selion::world& world, owners where, bool with_quiet)
        : test_(test),
          world_(world),
          last_(test.rounds(world.machine().capabilities.real_time ? 2000 : 40000, 16)),
          first_(world.rank() / players * players),
          with_quiet_(with_quiet),
          places_(world, 64),
          looks_(world, 2 * last_ + 1),
          look_counts_(world, 1),
          give_way_(world),
          x_(places_.at(owner(where.x), 0)),
          y_(places_.at(owner(where.y), 32)) {}

    /// Collective. Ranks that are left over watch.
    void play() {
        const bool takes_part = first_ + players <= world_.size();
        const auto role = static_cast<player>(world_.rank() - first_);
        world_.sync();
        if (takes_part) {
            switch (role) {
                case a: raise(x_); break;
                case b: raise(y_); break;
                default: look_on(role);
            }
        }
        world_.barrier();
        if (takes_part && role == c && with_quiet_) judge();
        world_.barrier();
    }

private:
    selion::rank_id owner(player which) const {
        return std::min(first_ + std::uint32_t{which}, world_.size() - 1);
    }

    /// Lets the others come between two steps: those of the same thread or, in virtual time, all,
    /// where nobody is late by chance.
    void pause() {
        const std::uint64_t random = test_.own_random()();
        if (!world_.machine().capabilities.real_time) {
            give_way_.idle(std::chrono::nanoseconds(random % 4096));
        } else if (random % 8 == 0) {  // the way back to a processor may be long
            give_way_();
        }
    }

    void raise(selion::global_ptr<std::uint64_t> place) {
        for (std::uint64_t value = 1; value <= last_; ++value) {
            selion::atomic_put(place, value);
            pause();
        }
    }

    look read(player role) {
        look seen{};
        if (role == c) seen.x = selion::atomic_get(x_);
        if (role == d) seen.y = selion::atomic_get(y_);
        pause();
        if (with_quiet_) selion::quiet();
        if (role == c) seen.y = selion::atomic_get(y_);
        if (role == d) seen.x = selion::atomic_get(x_);
        return seen;
    }

    /// Notes each look that differs from the one before. Where the host of a simulated bus serves
    /// all reads itself, two readers may keep it from its own part for ever: there they give up.
    void look_on(player role) {
        const std::uint64_t most = world_.machine().capabilities.real_time ? ~0ull : 8 * last_;
        const std::uint64_t room = 2 * last_ + 1;
        std::uint64_t& count = *look_counts_.mine();
        look before{};  // before anything was written
        looks_.mine()[count++] = before;
        for (std::uint64_t i = 0; i < most && before != look{last_, last_}; ++i) {
            const look now = read(role);
            test_.at_least(now.x, before.x);
            test_.at_least(now.y, before.y);
            if (now != before && count < room) looks_.mine()[count++] = now;
            before = now;
            pause();
        }
    }

    void judge() const {
        std::vector<look> of_d(selion::get(look_counts_.at(owner(d))));
        selion::get(std::span(of_d), looks_.at(owner(d)));
        test_.that(!contradict({looks_.mine(), *look_counts_.mine()}, of_d),
                   "two ranks agree which of two writes came first");
    }

    spmd::test_run& test_;
    selion::world& world_;
    std::uint64_t last_;
    std::uint32_t first_;
    bool with_quiet_;
    spmd::symmetric_array<std::uint64_t> places_;
    spmd::symmetric_array<look> looks_;
    spmd::symmetric_array<std::uint64_t> look_counts_;
    spmd::way_giver give_way_;
    selion::global_ptr<std::uint64_t> x_;
    selion::global_ptr<std::uint64_t> y_;
};

SPMD_TEST(litmus, independent_reads_of_independent_writes_with_quiet) {
    if (world.size() < players) return test.skip("needs four ranks");
    for (const owners& where : all_owners) game(test, world, where, true).play();
}

SPMD_TEST(litmus, independent_reads_of_independent_writes) {
    // Readers may disagree: only that no place goes back is looked for.
    if (world.size() < players) return test.skip("needs four ranks");
    for (const owners& where : all_owners) game(test, world, where, false).play();
}

}  // namespace
