// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <selion/cached_array.hpp>
#include <selion/selion.hpp>

#include "dice.hpp"

/// Short programs of a few ranks on two variables, with what no order of all accesses allows.
namespace coherent_order::litmus {

constexpr std::size_t most_parts = 4;
constexpr std::uint64_t rounds = 150;

/// Three characters are an access: `x=1` writes, `x? ` reads.
struct test {
    std::string_view name;
    std::array<std::string_view, most_parts> parts;  ///< of the ranks
    std::string_view afterwards;                     ///< by the first rank, after a barrier
    std::string_view forbidden;  ///< what reads find, in the order in which they stand here
};

constexpr test tests[] = {
    {"store buffering", {"x=1y? ", "y=1x? "}, "", "00"},
    {"message passing", {"x=1y=1", "y? x? "}, "", "10"},
    {"load buffering", {"x? y=1", "y? x=1"}, "", "11"},
    {"reads of one variable", {"x=1", "x? x? "}, "", "10"},
    {"two writes of two variables", {"x=1y=2", "y=1x=2"}, "x? y? ", "11"},
    {"independent reads of independent writes", {"x=1", "y=1", "x? y? ", "y? x? "}, "", "1010"},
    {"from write to read to read", {"x=1", "x? y=1", "y? x? "}, "", "110"},
};

/// A test in a round: who takes part, and where the variables are.
struct plan {
    const test* what = nullptr;
    std::uint32_t first = 0;  ///< rank that has the first part; the next ones have the next
    std::array<std::size_t, 2> places{};

    std::string_view part_of(std::uint32_t rank, std::uint32_t ranks) const {
        const std::uint32_t part = (rank + ranks - first) % ranks;
        return part < most_parts ? what->parts[part] : std::string_view{};
    }
};

/// The number that stands in a variable: a later round's are larger.
constexpr std::uint64_t value_of(std::uint64_t round, char digit) {
    return round * 10 + static_cast<std::uint64_t>(digit - '0');
}
/// 0: what was there before the round.
constexpr char digit_of(std::uint64_t round, std::uint64_t value) {
    return value <= round * 10 ? '0' : static_cast<char>('0' + value % 10);
}

/// What one rank has read in a round, as digits.
struct reads {
    std::uint64_t count;
    char found[8];
};

class player {
public:
    player(selion::world& world, std::uint64_t seed)
        : world_(world),
          common_(seed),
          own_(seed, world.rank() + 1),
          log_(selion::allocate<reads>(world, rounds + 1)) {
        array_ =
            numbers(world, {4 * std::size_t{world.size()}}, selion::runs{1}, any_cache(common_));
    }

    void play() {
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            const plan now = any_plan();
            plans_.push_back(now);
            // Some have copies of what others will write.
            for (const std::size_t place : now.places) {
                if (!own_.one_in(4)) static_cast<void>(array_(place).get());
            }
            world_.barrier();
            pause(own_);
            perform(now, round, now.part_of(world_.rank(), world_.size()));
            world_.barrier();
            if (now.what->afterwards.empty()) continue;
            if (world_.rank() == now.first) perform(now, round, now.what->afterwards);
            world_.barrier();
        }
    }

    /// On rank 0. @return a sentence, or nothing.
    std::string fault() const {
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            const plan& then = plans_[round - 1];
            std::string found;
            for (std::uint32_t part = 0; part < most_parts; ++part) {
                found += found_by((then.first + part) % world_.size(), round);
            }
            if (found != then.what->forbidden) continue;
            return "round " + std::to_string(round) + ", " + std::string(then.what->name) +
                   " from rank " + std::to_string(then.first) + " on, x at " +
                   std::to_string(then.places[0]) + ", y at " + std::to_string(then.places[1]) +
                   ": the reads have found " + found + ", which no order of all accesses allows";
        }
        return {};
    }

    void finish() {
        world_.barrier();
        selion::deallocate(world_, array_);
        selion::deallocate(world_, log_);
    }

private:
    using numbers = selion::cached_array<std::uint64_t, 1>;

    /// In the same block, or at the same home in another, or elsewhere.
    plan any_plan() {
        plan now;
        now.what = &tests[common_.below(std::size(tests))];
        now.first = static_cast<std::uint32_t>(common_.below(world_.size()));
        const std::size_t x = common_.below(array_.extent(0));
        const bool has_same_home = common_.one_in(2);
        const std::size_t step = has_same_home ? world_.size() * (1 + common_.below(3))
                                               : 1 + common_.below(array_.extent(0) - 1);
        now.places = {x, (x + step) % array_.extent(0)};
        return now;
    }

    void perform(const plan& now, std::uint64_t round, std::string_view accesses) {
        if (accesses.empty()) return disturb();
        reads& mine = log_.on(world_.rank()).local()[round];
        for (; !accesses.empty(); accesses.remove_prefix(3)) {
            const auto element = array_(now.places[accesses[0] == 'x' ? 0 : 1]);
            pause(own_);
            if (accesses[1] == '=') {
                element = value_of(round, accesses[2]);
            } else {
                mine.found[mine.count++] = digit_of(round, element.get());
            }
        }
    }

    /// Takes blocks away from those that have a part, and changes nothing.
    void disturb() {
        for (std::uint64_t i = own_.below(3); i != 0; --i) {
            pause(own_);
            array_(own_.below(array_.extent(0))) += 0;
        }
    }

    std::string found_by(std::uint32_t rank, std::uint64_t round) const {
        const auto theirs = log_.on(rank) + static_cast<std::ptrdiff_t>(round);
        const reads found = selion::get(theirs);
        return {found.found, found.count};
    }

    selion::world& world_;
    dice common_;
    dice own_;
    selion::global_ptr<reads> log_;
    numbers array_;
    std::vector<plan> plans_;
};

/// @return whether no round has found what is forbidden.
inline bool run(selion::world& world, std::uint64_t seed) {
    player me(world, seed);
    me.play();
    std::string fault;
    if (world.rank() == 0) fault = me.fault();
    if (!fault.empty()) std::fprintf(stderr, "coherent_order: %s\n", fault.c_str());
    me.finish();
    return fault.empty();
}

}  // namespace coherent_order::litmus
