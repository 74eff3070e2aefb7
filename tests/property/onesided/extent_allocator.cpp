// SPDX-License-Identifier: Apache-2.0
/// The allocator against a map of single bytes: who holds them, and who ever has.
#include "onesided/extent_allocator.hpp"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <vector>

namespace selion::onesided {
namespace {

constexpr std::uint64_t space = 4096;

/// Slow and obvious.
class byte_map {
public:
    /// First place below the frontier where all bytes are free, else at the frontier.
    std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment,
                                          std::uint64_t limit) {
        for (std::uint64_t start = 0; start + bytes <= frontier(); start += alignment) {
            if (is_free(start, bytes)) return take(start, bytes);
        }
        const std::uint64_t first = (frontier() + alignment - 1) / alignment * alignment;
        if (first + bytes > limit) return std::nullopt;
        return take(first, bytes);
    }
    void deallocate(std::uint64_t start) {
        for (std::uint64_t i = 0; i < live_[start]; ++i) held_[start + i] = false;
        live_.erase(start);
    }
    /// After the last byte that somebody holds.
    std::uint64_t frontier() const {
        return live_.empty() ? 0 : live_.rbegin()->first + live_.rbegin()->second;
    }
    bool had_an_owner(std::uint64_t start, std::uint64_t bytes) const {
        for (std::uint64_t i = 0; i < bytes; ++i) {
            if (touched_[start + i]) return true;
        }
        return false;
    }
    void touch(std::uint64_t start, std::uint64_t bytes) {
        for (std::uint64_t i = 0; i < bytes; ++i) touched_[start + i] = true;
    }
    const std::map<std::uint64_t, std::uint64_t>& live() const { return live_; }
    std::uint64_t used_bytes() const { return held_.count(); }

private:
    bool is_free(std::uint64_t start, std::uint64_t bytes) const {
        for (std::uint64_t i = 0; i < bytes; ++i) {
            if (held_[start + i]) return false;
        }
        return true;
    }
    std::uint64_t take(std::uint64_t start, std::uint64_t bytes) {
        for (std::uint64_t i = 0; i < bytes; ++i) held_[start + i] = true;
        live_[start] = bytes;
        return start;
    }
    std::bitset<space> held_;
    std::bitset<space> touched_;
    std::map<std::uint64_t, std::uint64_t> live_;
};

/// Either an allocation or the return of the `victim`-th live one.
struct step {
    bool allocates;
    std::uint64_t bytes;
    std::uint64_t alignment;
    std::uint64_t limit;
    std::uint64_t victim;
};

rc::Gen<step> any_step() {
    return rc::gen::apply(
        [](int kind, std::uint64_t units, unsigned shift, bool is_tight, std::uint64_t victim) {
            const std::uint64_t alignment = std::uint64_t{16} << shift;
            return step{kind != 0, units * alignment, alignment, is_tight ? space / 2 : space,
                        victim};
        },
        rc::gen::inRange(0, 3), rc::gen::inRange<std::uint64_t>(1, 9), rc::gen::inRange(0u, 5u),
        rc::gen::arbitrary<bool>(), rc::gen::arbitrary<std::uint64_t>());
}

void apply(const step& what, extent_allocator& allocator, byte_map& model) {
    if (!what.allocates) {
        if (model.live().empty()) return;
        const auto chosen =
            std::next(model.live().begin(), static_cast<long>(what.victim % model.live().size()));
        const auto [start, bytes] = *chosen;
        RC_ASSERT(allocator.deallocate(start) == bytes);
        model.deallocate(start);
        return;
    }
    const auto range = allocator.allocate(what.bytes, what.alignment, what.limit);
    const auto expected = model.allocate(what.bytes, what.alignment, what.limit);
    RC_ASSERT(range.has_value() == expected.has_value());
    if (!range) return;
    RC_ASSERT(range->start == *expected);
    RC_ASSERT(range->start % what.alignment == 0u);
    RC_ASSERT(range->bytes == what.bytes);
    // Memory may be cleaned once too often, but never too seldom.
    RC_ASSERT(range->was_used || !model.had_an_owner(range->start, range->bytes));
    model.touch(range->start, range->bytes);
}

std::vector<step> steps() { return *rc::gen::container<std::vector<step>>(any_step()); }

RC_GTEST_PROP(extent_allocator, agrees_with_a_map_of_bytes, ()) {
    extent_allocator allocator;
    byte_map model;
    for (const step& what : steps()) {
        apply(what, allocator, model);
        RC_ASSERT(allocator.used_bytes() == model.used_bytes());
        RC_ASSERT(allocator.frontier() == model.frontier());
    }
}

RC_GTEST_PROP(extent_allocator, equal_calls_give_equal_ranges, ()) {
    extent_allocator one;
    extent_allocator other;
    std::vector<std::uint64_t> live;
    for (const step& what : steps()) {
        if (what.allocates) {
            const auto range = one.allocate(what.bytes, what.alignment, what.limit);
            const auto same = other.allocate(what.bytes, what.alignment, what.limit);
            RC_ASSERT(range.has_value() == same.has_value());
            if (!range) continue;
            RC_ASSERT(range->start == same->start);
            RC_ASSERT(range->was_used == same->was_used);
            live.push_back(range->start);
        } else if (!live.empty()) {
            const auto chosen = live.begin() + static_cast<long>(what.victim % live.size());
            RC_ASSERT(one.deallocate(*chosen) == other.deallocate(*chosen));
            live.erase(chosen);
        }
    }
}

/// What a rank that had room does when another had none: it takes the allocation back. Later
/// allocations must be where they would have been.
RC_GTEST_PROP(extent_allocator, an_allocation_taken_back_leaves_no_trace, ()) {
    extent_allocator hasty;
    extent_allocator calm;
    byte_map unused;
    byte_map also_unused;
    for (const step& what : steps()) {
        if (const auto range = hasty.allocate(what.bytes, what.alignment, space)) {
            hasty.deallocate(range->start);
        }
        apply(what, hasty, unused);
        apply(what, calm, also_unused);
        RC_ASSERT(unused.live() == also_unused.live());
    }
}

}  // namespace
}  // namespace selion::onesided
