// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <selion/cached_array.hpp>
#include <selion/selion.hpp>

#include "dice.hpp"
#include "register_history.hpp"

/// Accesses of all kinds to a few locations, each of which must look as if it were one place that
/// does one access after another.
namespace coherent_order::locations {

constexpr std::uint64_t steps = 150;
constexpr std::size_t most_locations = 12;
constexpr std::size_t most_started = 4;  ///< accesses, together
/// Of a rank: it reads all locations at the end, and its own ones again.
constexpr std::size_t most_accesses = steps * most_started + 2 * most_locations;

struct access_log {
    std::uint64_t count;
    access accesses[most_accesses];
};

/// What one rank does.
class player {
public:
    player(selion::world& world, std::uint64_t seed)
        : world_(world),
          own_(seed, world.rank() + 1),
          log_(selion::allocate<access_log>(world, 1)) {
        dice common(seed);
        const selion::cached how = any_cache(common);
        array_ = numbers(world, {3 + common.below(most_locations - 2)}, selion::runs{1}, how);
        last_seen_.assign(array_.extent(0), 0);
    }

    void play() {
        for (std::uint64_t i = 0; i < steps; ++i) step();
        world_.barrier();
        for (std::size_t i = 0; i < array_.extent(0); ++i) read(i);
        world_.barrier();
        array_.space().invalidate();
        world_.barrier();
        array_.memory().for_mine([&](const std::uint64_t& element, std::size_t i) {
            pause(own_);
            const std::int64_t now = world_.now_ps();
            note({now, now, element, 0, world_.rank(), number_of(i), true, false});
        });
        world_.barrier();
    }

    /// On rank 0. @return all accesses, by location.
    std::vector<std::vector<access>> gather() const {
        std::vector<std::vector<access>> found(array_.extent(0));
        for (std::uint32_t rank = 0; rank < world_.size(); ++rank) {
            const auto log = log_.on(rank);
            std::vector<access> theirs(selion::get(log.member(&access_log::count)));
            selion::get(std::span(theirs), log.member(&access_log::accesses).reinterpret<access>());
            for (const access& one : theirs) found[one.location].push_back(one);
        }
        return found;
    }

    void say_counts() const {
        const selion::cache_counts counts = array_.space().counts();
        const std::uint64_t accesses = log_.on(world_.rank()).local()->count;
        std::printf(
            "a rank has made %llu accesses, with %llu blocks sent, %llu invalidations, "
            "%llu evictions and %llu write-backs\n",
            as_printed(accesses), as_printed(counts.blocks_sent),
            as_printed(counts.invalidations_received), as_printed(counts.evictions),
            as_printed(counts.write_backs));
    }

    void finish() {
        world_.barrier();
        selion::deallocate(world_, array_);
        selion::deallocate(world_, log_);
    }

private:
    using numbers = selion::cached_array<std::uint64_t, 1>;

    static unsigned long long as_printed(std::uint64_t count) { return count; }
    static std::uint32_t number_of(std::size_t location) {
        return static_cast<std::uint32_t>(location);
    }
    /// Never the same; what is added to one by `fetch_add` does not reach the next one.
    std::uint64_t new_value() {
        return (world_.rank() + 1) * std::uint64_t{100'000'000} + ++values_ * 10'000;
    }
    void note(const access& one) {
        access_log& log = *log_.on(world_.rank()).local();
        log.accesses[log.count++] = one;
        last_seen_[one.location] = one.writes ? one.written : one.read;
    }

    /// @param make carries the access out, and fills in what it has read and written.
    template <class Make>
    void run(std::size_t location, const Make& make) {
        pause(own_);
        access one;
        one.rank = world_.rank();
        one.location = number_of(location);
        one.begin_ps = world_.now_ps();
        make(one);
        one.end_ps = world_.now_ps();
        note(one);
    }
    void read(std::size_t location) {
        run(location, [&](access& one) {
            one.reads = true;
            one.read = array_(location);
        });
    }
    void write(std::size_t location) {
        run(location, [&](access& one) {
            one.writes = true;
            one.written = new_value();
            array_(location) = one.written;
        });
    }
    void add(std::size_t location) {
        run(location, [&](access& one) {
            one.reads = one.writes = true;
            one.read = array_(location).fetch_add(1);
            one.written = one.read + 1;
        });
    }
    void swap(std::size_t location) {
        run(location, [&](access& one) {
            one.reads = one.writes = true;
            one.written = new_value();
            one.read = array_(location).swap(one.written);
        });
    }
    void compare_swap(std::size_t location) {
        run(location, [&](access& one) {
            const std::uint64_t expected = last_seen_[location];
            one.written = new_value();
            one.read = array_(location).compare_swap(expected, one.written);
            one.reads = true;
            one.writes = one.read == expected;
        });
    }

    /// Reads and writes that are started together; each takes effect before the end of all.
    void start_some() {
        std::vector<access> some(2 + own_.below(most_started - 1));
        pause(own_);
        const std::int64_t begun = world_.now_ps();
        {
            selion::transfers under_way;
            for (access& one : some) {
                const std::size_t location = own_.below(array_.extent(0));
                one.rank = world_.rank();
                one.location = number_of(location);
                one.writes = own_.one_in(2);
                one.reads = !one.writes;
                if (one.writes) one.written = new_value();
                if (one.writes) array_.put(under_way, {location}, one.written);
                if (one.reads) array_.get(under_way, {location}, one.read);
            }
        }
        const std::int64_t ended = world_.now_ps();
        for (access& one : some) {
            one.begin_ps = begun;
            one.end_ps = ended;
            note(one);
        }
    }

    void look_after_copies() {
        switch (own_.below(4)) {
            case 0: return array_.space().flush();
            case 1: return array_.space().invalidate();
            default: return array_.prefetch({{own_.below(array_.extent(0))}, {1}});
        }
    }

    void step() {
        const std::size_t location = own_.below(array_.extent(0));
        const std::uint64_t what = own_.below(24);
        if (what < 8) return read(location);
        if (what < 13) return write(location);
        if (what < 17) return add(location);
        if (what < 19) return compare_swap(location);
        if (what < 21) return swap(location);
        if (what < 23) return start_some();
        look_after_copies();
    }

    selion::world& world_;
    dice own_;
    selion::global_ptr<access_log> log_;
    numbers array_;
    std::vector<std::uint64_t> last_seen_;  ///< by location
    std::uint64_t values_ = 0;
};

/// @return whether all locations are in order.
inline bool run(selion::world& world, std::uint64_t seed) {
    player me(world, seed);
    me.play();
    bool is_right = true;
    if (world.rank() == 0) {
        me.say_counts();
        const std::vector<std::vector<access>> histories = me.gather();
        for (std::size_t location = 0; is_right && location < histories.size(); ++location) {
            const std::string fault = register_history(histories[location]).fault();
            is_right = fault.empty();
            if (is_right) continue;
            std::fprintf(stderr, "coherent_order: location %zu: %s\n", location, fault.c_str());
        }
    }
    me.finish();
    return is_right;
}

}  // namespace coherent_order::locations
