// SPDX-License-Identifier: Apache-2.0
/// Symmetric and local allocation: zeroed, aligned, at equal places, refused alike.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

bool is_equal_everywhere(selion::world& world, std::uint64_t value) {
    return world.all_reduce(value, selion::minimum) == value &&
           world.all_reduce(value, selion::maximum) == value;
}

void dirty(selion::global_ptr<std::byte> start, std::size_t bytes) {
    std::fill_n(start.local(), bytes, std::byte{0xff});
}

bool is_zero(selion::global_ptr<std::byte> start, std::size_t bytes) {
    const std::span<const std::byte> range(start.local(), bytes);
    return std::ranges::all_of(range, [](std::byte value) { return value == std::byte{0}; });
}

constexpr std::array<std::size_t, 8> allocation_sizes{1, 7, 16, 63, 64, 5000, 65536, 1 << 20};

SPMD_TEST(heap, memory_is_zeroed_also_when_reused) {
    for (const std::size_t bytes : allocation_sizes) {
        for (int turn = 0; turn < 3; ++turn) {
            const auto all = selion::allocate<std::byte>(world, bytes);
            test.that(is_zero(all, bytes), "symmetric memory is zeroed");
            dirty(all, bytes);
            const auto own = selion::allocate_local<std::byte>(world, bytes);
            test.that(is_zero(own, bytes), "local memory is zeroed");
            dirty(own, bytes);
            selion::deallocate_local(world, own);
            selion::deallocate(world, all);
        }
    }
}

SPMD_TEST(heap, memory_reused_in_other_pieces_is_zeroed) {
    constexpr std::size_t piece = 10000;
    const auto whole = selion::allocate<std::byte>(world, 300 * piece);
    dirty(whole, 300 * piece);
    selion::deallocate(world, whole);
    std::vector<selion::global_ptr<std::byte>> pieces;
    for (std::size_t i = 0; i < 64; ++i) {
        pieces.push_back(selion::allocate<std::byte>(world, piece + i));
        test.that(is_zero(pieces.back(), piece + i), "a piece of reused memory is zeroed");
    }
    for (const auto one : pieces) selion::deallocate(world, one);
}

bool holds(selion::global_ptr<std::byte> start, std::size_t bytes, std::byte value) {
    return spmd::is_untouched(std::span<const std::byte>(start.local(), bytes), value);
}

/// Pages of a range that lie in memory.
std::size_t resident_pages(const std::byte* start, std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    const std::uintptr_t first = (address + page - 1) / page * page;
    std::vector<unsigned char> are_there((address + bytes - first) / page);
    if (mincore(reinterpret_cast<void*>(first), are_there.size() * page, are_there.data()) != 0) {
        return are_there.size();
    }
    return static_cast<std::size_t>(
        std::ranges::count_if(are_there, [](unsigned char one) { return (one & 1) != 0; }));
}

/// Large ranges go back to the host when they are freed; what shares a page with their ends stays.
SPMD_TEST(heap, memory_that_goes_back_to_the_host_leaves_its_neighbours) {
    constexpr std::size_t little = 100;
    constexpr std::size_t large = (std::size_t{2} << 20) + 500;
    constexpr std::byte kept{0x5a};
    const bool is_real = world.machine().capabilities.real_time;
    for (const bool is_symmetric : {true, false}) {
        const auto allocate = [&](std::size_t bytes) {
            return is_symmetric ? selion::allocate<std::byte>(world, bytes)
                                : selion::allocate_local<std::byte>(world, bytes);
        };
        const auto deallocate = [&](selion::global_ptr<std::byte> start) {
            is_symmetric ? selion::deallocate(world, start)
                         : selion::deallocate_local(world, start);
        };
        const auto before = allocate(little);
        const auto middle = allocate(large);
        const auto behind = allocate(little);
        std::fill_n(before.local(), little, kept);
        std::fill_n(behind.local(), little, kept);
        dirty(middle, large);
        if (is_real) test.at_least(resident_pages(middle.local(), large), std::size_t{1});
        deallocate(middle);
        if (is_real) test.equal(resident_pages(middle.local(), large), std::size_t{0});
        test.that(holds(before, little, kept) && holds(behind, little, kept),
                  "the neighbours keep what they hold");
        deallocate(behind);
        deallocate(before);
    }
}

SPMD_TEST(heap, places_are_equal_on_all_ranks_and_aligned) {
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        const auto odd = selion::allocate<std::byte>(world, 3);  // disturbs the alignment
        const auto all = selion::allocate<std::byte>(world, 100, alignment);
        const auto own = selion::allocate_local<std::byte>(world, 100, alignment);
        const std::size_t least = std::max<std::size_t>(alignment, 16);
        test.equal(all.offset() % least, 0u);
        test.equal(own.offset() % least, 0u);
        test.equal(reinterpret_cast<std::uintptr_t>(all.local()) % least, 0u);
        test.equal(reinterpret_cast<std::uintptr_t>(own.local()) % least, 0u);
        test.that(is_equal_everywhere(world, all.offset()), "offsets are equal on all ranks");
        test.equal(std::uint32_t{all.rank()}, std::uint32_t{world.rank()});
        test.equal(std::uint32_t{own.rank()}, std::uint32_t{world.rank()});
        selion::deallocate_local(world, own);
        selion::deallocate(world, all);
        selion::deallocate(world, odd);
    }
}

struct alignas(256) wide_cell {
    std::uint64_t value;
};

SPMD_TEST(heap, alignment_of_the_type_is_kept) {
    spmd::symmetric_array<wide_cell> cells(world, 3);
    test.equal(cells.own(1).offset() % 256, 0u);
    selion::put(cells.at(test.neighbour(), 2), wide_cell{world.rank() + 5});
    world.barrier();
    test.equal(cells.mine()[2].value, test.neighbour_before() + 5ull);
}

SPMD_TEST(heap, no_elements_still_have_a_place) {
    const auto none = selion::allocate<std::uint64_t>(world, 0);
    const auto other = selion::allocate<std::uint64_t>(world, 0);
    const auto own = selion::allocate_local<std::uint64_t>(world, 0);
    test.that(none && other && own, "an allocation of nothing is not null");
    test.that(none.offset() != other.offset() && none.offset() != own.offset(),
              "each allocation has its own place");
    selion::deallocate_local(world, own);
    selion::deallocate(world, none);
    selion::deallocate(world, other);
    selion::deallocate(world, selion::global_ptr<std::uint64_t>());
    selion::deallocate_local(world, selion::global_ptr<std::uint64_t>());
}

SPMD_TEST(heap, usage_counts_what_is_allocated) {
    const selion::heap_usage before = world.heap();
    test.at_least(before.reserved_bytes, before.used_bytes);
    const auto all = selion::allocate<std::byte>(world, 4096);
    test.equal(world.heap().used_bytes, before.used_bytes + 4096);
    const auto own = selion::allocate_local<std::byte>(world, 8192);
    test.equal(world.heap().used_bytes, before.used_bytes + 4096 + 8192);
    test.equal(world.heap().reserved_bytes, before.reserved_bytes);
    selion::deallocate(world, all);
    test.equal(world.heap().used_bytes, before.used_bytes + 8192);
    selion::deallocate_local(world, own);
    test.equal(world.heap().used_bytes, before.used_bytes);
}

SPMD_TEST(heap, local_memory_differs_from_rank_to_rank) {
    // Each rank allocates as it likes; symmetric offsets stay equal, and everything is reachable.
    std::vector<selion::global_ptr<std::uint64_t>> own;
    for (std::uint32_t i = 0; i <= world.rank() % 5; ++i) {
        own.push_back(selion::allocate_local<std::uint64_t>(world, 10 + 100 * i));
        selion::put(own.back() + 9, std::uint64_t{world.rank()} << 8 | i);
    }
    spmd::symmetric_array<selion::global_ptr<std::uint64_t>> directory(world, 1);
    test.that(is_equal_everywhere(world, directory.own().offset()),
              "local allocations do not move symmetric ones");
    *directory.mine() = own.back();
    world.barrier();
    for (std::uint32_t d = 0; d < world.size(); ++d) {
        const std::uint32_t peer = test.neighbour(d);
        test.equal(selion::get(selion::get(directory.at(peer)) + 9),
                   std::uint64_t{peer} << 8 | peer % 5);
    }
    world.barrier();
    for (const auto one : own) selion::deallocate_local(world, one);
}

/// Calls `allocate`, and says whether it threw as it should.
template <class Allocate>
bool is_refused(spmd::test_run& test, std::size_t bytes, Allocate allocate) {
    try {
        static_cast<void>(allocate());
        return false;
    } catch (const selion::error& trouble) {
        test.that(trouble.code() == selion::status::out_of_memory, "the code is out_of_memory");
        const std::string_view sentence = trouble.what();
        test.that(sentence.find("SELION_HEAP") != std::string_view::npos ||
                      sentence.find("no setting gives more") != std::string_view::npos ||
                      sentence.find("memory.each_rank_kib=") != std::string_view::npos ||
                      bytes > (std::size_t{1} << 40),
                  "the sentence names the cure: " + std::string(sentence));
        return true;
    }
}

SPMD_TEST(heap, too_much_is_refused_on_all_ranks_and_the_job_goes_on) {
    const std::size_t too_much = world.heap().reserved_bytes;
    const std::uint64_t used = world.heap().used_bytes;
    for (int turn = 0; turn < 3; ++turn) {
        test.that(is_refused(test, too_much,
                             [&] { return selion::allocate<std::byte>(world, too_much); }),
                  "a symmetric allocation of the whole reserve is refused");
        test.that(is_refused(test, too_much,
                             [&] { return selion::allocate_local<std::byte>(world, too_much); }),
                  "a local allocation of the whole reserve is refused");
        test.equal(world.heap().used_bytes, used);
        const auto fits = selion::allocate<std::uint64_t>(world, 1000);
        selion::put(fits.on(test.neighbour()) + 999, std::uint64_t{7});
        world.barrier();
        test.equal(selion::get(fits + 999), 7u);
        selion::deallocate(world, fits);
    }
    constexpr std::size_t overflow = ~std::size_t{0} / 4;
    test.that(is_refused(test, overflow,
                         [&] { return selion::allocate<std::uint64_t>(world, overflow); }),
              "more than an address can name is refused");
    world.barrier();
}

/// Allocates pieces until no more fit; all must be zero, and none is left so.
template <class Allocate>
std::vector<selion::global_ptr<std::byte>> use_up(spmd::test_run& test, Allocate allocate) {
    constexpr std::size_t piece = 50'000;
    std::vector<selion::global_ptr<std::byte>> pieces;
    while (!is_refused(test, piece, [&] { return pieces.emplace_back(allocate(piece)); })) {
        test.that(is_zero(pieces.back(), piece), "a piece is zeroed");
        dirty(pieces.back(), piece);
    }
    return pieces;
}

/// Where the program's own memory begins while nothing is allocated.
std::uint64_t ground_of_runtime(selion::world& world) {
    const auto first = selion::allocate<std::byte>(world, 1);
    selion::deallocate(world, first);
    return first.offset();
}

// Before all tests that use the symmetric side up: afterwards no ground is new to it.
SPMD_TEST(heap, ground_of_the_other_side_is_zeroed) {
    if (!has_small_heap(test, world)) return;
    const auto own =
        use_up(test, [&](std::size_t n) { return selion::allocate_local<std::byte>(world, n); });
    for (const auto one : own) selion::deallocate_local(world, one);
    world.barrier();
    const auto all =
        use_up(test, [&](std::size_t n) { return selion::allocate<std::byte>(world, n); });
    for (const auto one : all) selion::deallocate(world, one);
    // Who has the least room decides for all. Where the runtime keeps something, what fits beyond
    // that, which is little, is out of the symmetric side's reach.
    const std::size_t least = world.all_reduce(own.size(), selion::minimum);
    const std::size_t beyond = world.heap().runtime_bytes == ground_of_runtime(world) ? 0 : 2;
    test.that(all.size() <= least && all.size() + beyond >= least, "as many pieces of all ranks");
}

SPMD_TEST(heap, used_up_in_pieces) {
    if (!has_small_heap(test, world)) return;
    const std::uint64_t used = world.heap().used_bytes;
    for (int turn = 0; turn < 2; ++turn) {
        std::vector<selion::global_ptr<std::byte>> pieces;
        constexpr std::size_t piece = 100'000;
        while (!is_refused(test, piece, [&] {
            return pieces.emplace_back(selion::allocate<std::byte>(world, piece));
        })) {
            pieces.back().local()[piece - 1] = std::byte{1};
        }
        const std::uint64_t reserved = world.heap().reserved_bytes;
        test.that(is_equal_everywhere(world, pieces.size()), "all ranks are refused the same one");
        const selion::heap_usage now = world.heap();
        test.at_least(now.used_bytes + now.runtime_bytes, reserved - 2 * piece);
        // What fits is still granted, and a gap in the middle is found again.
        const auto middle = pieces[pieces.size() / 2];
        selion::deallocate(world, middle);
        const auto again = selion::allocate<std::byte>(world, piece);
        test.equal(again.offset(), middle.offset());
        test.that(is_zero(again, piece), "the gap is zeroed");
        for (const auto one : pieces) selion::deallocate(world, one);
        test.equal(world.heap().used_bytes, used);
    }
}

SPMD_TEST(heap, one_rank_without_room_makes_all_refuse) {
    if (!has_small_heap(test, world)) return;
    const std::uint64_t free_bytes = world.heap().reserved_bytes - world.heap().used_bytes;
    const std::uint32_t full = world.size() - 1;
    selion::global_ptr<std::byte> hoard;
    if (world.rank() == full) {
        hoard = selion::allocate_local<std::byte>(world, free_bytes * 3 / 4);
    }
    for (int turn = 0; turn < 3; ++turn) {
        test.that(is_refused(test, free_bytes / 2,
                             [&] { return selion::allocate<std::byte>(world, free_bytes / 2); }),
                  "all ranks refuse when one has no room");
        const auto small = selion::allocate<std::byte>(world, 1000);
        test.that(is_equal_everywhere(world, small.offset()),
                  "offsets stay equal after a refusal that only one rank caused");
        selion::deallocate(world, small);
    }
    selion::deallocate_local(world, hoard);
    world.barrier();
    const auto fits = selion::allocate<std::byte>(world, free_bytes / 2);
    test.that(is_zero(fits, free_bytes / 2), "memory that was refused before is zeroed");
    selion::deallocate(world, fits);
}

}  // namespace
