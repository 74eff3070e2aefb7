// SPDX-License-Identifier: Apache-2.0
/// Long random sequences of allocations, against a list of what is live.
#include <iterator>
#include <map>

#include "conformance/memory_parts.hpp"

namespace {

using byte_ptr = selion::global_ptr<std::byte>;

/// What this rank holds, by offset.
class live_list {
public:
    struct entry {
        byte_ptr start;
        std::size_t bytes;
        std::byte tag;
    };

    live_list(spmd::test_run& test, selion::world& world) : test_(test), world_(world) {}

    std::size_t size() const { return entries_.size(); }

    void add(byte_ptr start, std::size_t bytes, std::size_t alignment) {
        test_.equal(start.offset() % alignment, 0u);
        const selion::heap_usage heap = world_.heap();
        test_.at_least(heap.reserved_bytes, heap.used_bytes + heap.runtime_bytes);
        const auto next = entries_.lower_bound(start.offset());
        if (next != entries_.end()) test_.at_least(next->first, start.offset() + bytes);
        if (next != entries_.begin()) {
            const auto before = std::prev(next);
            test_.at_least(start.offset(), before->first + before->second.bytes);
        }
        const std::span<std::byte> range(start.local(), bytes);
        test_.that(std::ranges::all_of(range, [](std::byte b) { return b == std::byte{0}; }),
                   "new memory is zeroed");
        const auto tag = static_cast<std::byte>(1 + ++tags_ % 255);
        std::ranges::fill(range, tag);
        entries_.emplace(start.offset(), entry{start, bytes, tag});
    }

    /// Takes the entry at `place` out, after a look at its content.
    byte_ptr take(std::size_t place) {
        const auto chosen = std::next(entries_.begin(), static_cast<std::ptrdiff_t>(place));
        const entry one = chosen->second;
        const std::span<const std::byte> range(one.start.local(), one.bytes);
        test_.that(std::ranges::all_of(range, [&](std::byte b) { return b == one.tag; }),
                   "nobody has written to memory that is live");
        entries_.erase(chosen);
        return one.start;
    }

private:
    spmd::test_run& test_;
    selion::world& world_;
    std::map<std::uint64_t, entry> entries_;
    std::uint32_t tags_ = 0;
};

/// Sizes of all magnitudes up to `most`.
std::size_t draw_bytes(std::mt19937_64& random, std::size_t most) {
    const std::size_t limit = most >> random() % 14;
    return random() % (limit + 1);
}

std::size_t draw_alignment(std::mt19937_64& random) { return std::size_t{1} << random() % 13; }

/// Symmetric ones in equal order on all ranks, local ones as each rank likes, mixed.
SPMD_TEST(heap_model, random_sequences_follow_the_list_of_what_is_live) {
    constexpr std::size_t most_bytes = 200'000;
    constexpr std::size_t most_live = 12;
    live_list symmetric(test, world);
    live_list local(test, world);
    std::mt19937_64& common = test.common_random();
    std::mt19937_64& own = test.own_random();
    std::uint64_t places = 0;  // a hash of all symmetric offsets
    const std::uint32_t steps = test.rounds(6000, 100);
    for (std::uint32_t step = 0; step < steps; ++step) {
        if (symmetric.size() == most_live || (symmetric.size() != 0 && common() % 5 < 2)) {
            selion::deallocate(world, symmetric.take(common() % symmetric.size()));
        } else {
            const std::size_t bytes = draw_bytes(common, most_bytes);
            const std::size_t alignment = draw_alignment(common);
            const auto start = selion::allocate<std::byte>(world, bytes, alignment);
            symmetric.add(start, bytes, alignment);
            places = places * 0x100000001b3ull + start.offset();
        }
        if (local.size() == most_live || (local.size() != 0 && own() % 5 < 2)) {
            selion::deallocate_local(world, local.take(own() % local.size()));
        } else if (own() % 3 != 0) {
            const std::size_t bytes = draw_bytes(own, most_bytes / 4);
            const std::size_t alignment = draw_alignment(own);
            local.add(selion::allocate_local<std::byte>(world, bytes, alignment), bytes, alignment);
        }
    }
    test.equal(world.all_reduce(places, selion::maximum), places);
    test.equal(world.all_reduce(places, selion::minimum), places);
    while (symmetric.size() != 0) selion::deallocate(world, symmetric.take(0));
    while (local.size() != 0) selion::deallocate_local(world, local.take(0));
}

SPMD_TEST(heap_model, thousands_come_and_go) {
    const std::uint32_t count = test.rounds(4000, 60);
    std::vector<byte_ptr> all;
    for (std::uint32_t i = 0; i < count; ++i) {
        all.push_back(selion::allocate<std::byte>(world, 1 + i % 300));
    }
    std::shuffle(all.begin(), all.end(), test.common_random());
    const std::uint64_t used = world.heap().used_bytes;
    for (std::uint32_t i = 0; i < count; ++i) {
        selion::deallocate(world, all[i]);
        if (i % 2 == 0) all.push_back(selion::allocate<std::byte>(world, 1 + i % 300));
    }
    test.that(world.heap().used_bytes < used, "half of them are gone");
    for (std::uint32_t i = count; i < all.size(); ++i) selion::deallocate(world, all[i]);
}

}  // namespace
