// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "conformance/spmd.hpp"

/// What many tests lay into symmetric memory.
namespace spmd {

/// `count` elements on every rank, given back at the end of the scope. Collective.
template <class T>
class symmetric_array {
public:
    symmetric_array(selion::world& world, std::size_t count)
        : world_(world), start_(selion::allocate<T>(world, count)) {}
    ~symmetric_array() { selion::deallocate(world_, start_); }
    symmetric_array(const symmetric_array&) = delete;
    symmetric_array& operator=(const symmetric_array&) = delete;

    selion::global_ptr<T> at(selion::rank_id rank, std::size_t index = 0) const {
        return start_.on(rank) + static_cast<std::ptrdiff_t>(index);
    }
    selion::global_ptr<T> own(std::size_t index = 0) const { return at(world_.rank(), index); }
    /// The caller's own elements as plain memory.
    T* mine() const { return start_.local(); }

private:
    selion::world& world_;
    selion::global_ptr<T> start_;
};

/// Bytes that tell who sent them, and where they belong.
inline std::vector<std::byte> message(std::uint32_t sender, std::size_t bytes,
                                      std::uint32_t salt = 0) {
    std::vector<std::byte> text(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        text[i] = static_cast<std::byte>(i * 131 + i / 251 + sender * 17 + salt * 59 + 1);
    }
    return text;
}

inline constexpr std::size_t guard_bytes = 64;
inline constexpr std::byte canary{0xa5};

inline bool is_untouched(std::span<const std::byte> guard, std::byte expected = canary) {
    return std::ranges::all_of(guard, [=](std::byte value) { return value == expected; });
}

/// On every rank a range for `most` bytes with guard bytes on either side. Collective.
class guarded_range {
public:
    guarded_range(selion::world& world, std::size_t most)
        : bytes_(most + 2 * guard_bytes), memory_(world, bytes_) {}

    /// Owner: forgets everything.
    void clear() { std::ranges::fill(all(), canary); }
    /// Owner: lays `text` at `offset` into the range.
    void fill(std::span<const std::byte> text, std::size_t offset) {
        clear();
        std::ranges::copy(text, all().begin() + static_cast<std::ptrdiff_t>(guard_bytes + offset));
    }
    selion::global_ptr<std::byte> on(selion::rank_id rank, std::size_t offset) const {
        return memory_.at(rank, guard_bytes + offset);
    }
    /// Owner: exactly `expected` lies at `offset`, and nothing else has changed.
    void check(test_run& test, std::span<const std::byte> expected, std::size_t offset,
               std::source_location site = std::source_location::current()) {
        const std::span<const std::byte> range = all();
        const std::size_t start = guard_bytes + offset;
        test.that(is_untouched(range.first(start)), "the bytes before the target are untouched",
                  site);
        test.that(std::ranges::equal(range.subspan(start, expected.size()), expected),
                  "the target holds what was put", site);
        test.that(is_untouched(range.subspan(start + expected.size())),
                  "the bytes after the target are untouched", site);
    }

private:
    std::span<std::byte> all() { return {memory_.mine(), bytes_}; }

    std::size_t bytes_;
    symmetric_array<std::byte> memory_;
};

/// Until the memory of teams that all members have let go is used again: a rank leaves what its
/// threads have let go, the first member notices that all have left, and then the others.
inline void end_teams(selion::world& world) {
    for (int step = 0; step < 2; ++step) {
        (void)world.heap();
        world.barrier();
    }
    (void)world.heap();
}

/// A reserve that a test can afford to use up.
inline bool has_small_heap(test_run& test, selion::world& world) {
    constexpr std::uint64_t small = 16u << 20;
    if (world.heap().reserved_bytes <= small) return true;
    test.skip("needs SELION_HEAP of at most 16M");
    return false;
}

/// Lets other ranks run that share this rank's thread, for tests that look again and again.
class way_giver {
public:
    explicit way_giver(selion::world& world)
        : never_(world, 1), turn_(world.machine().capabilities.real_time ? 0 : 100'000) {}
    void operator()() const { idle(turn_); }
    /// Passes time; never waits for anything.
    void idle(std::chrono::nanoseconds time) const {
        static_cast<void>(selion::wait_until(never_.own(), 1, time));
    }

private:
    symmetric_array<selion::signal> never_;
    /// Where time is virtual looking again takes very little of it, and others may need much: those
    /// who look, for one, whose questions a rank serves as long as there are any.
    std::chrono::nanoseconds turn_;
};

}  // namespace spmd
