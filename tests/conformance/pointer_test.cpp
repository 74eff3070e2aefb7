// SPDX-License-Identifier: Apache-2.0
/// Global pointers: what they name, and what the calling rank may do with them directly.
#include <unordered_map>

#include "conformance/memory_parts.hpp"

namespace {

SPMD_TEST(pointer, names_rank_and_offset) {
    spmd::symmetric_array<std::uint64_t> cells(world, 8);
    const selion::global_ptr<std::uint64_t> own = cells.own();
    test.equal(std::uint32_t{own.rank()}, std::uint32_t{world.rank()});
    test.equal(own.segment(), 1u);
    for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
        const auto there = own.on(rank);
        test.equal(std::uint32_t{there.rank()}, rank);
        test.equal(there.offset(), own.offset());
        test.that(there.on(world.rank()) == own, "there and back is the same pointer");
    }
}

SPMD_TEST(pointer, arithmetic_counts_elements) {
    spmd::symmetric_array<std::uint32_t> cells(world, 16);
    auto walker = cells.own();
    for (std::uint32_t i = 0; i < 16; ++i, ++walker) {
        test.equal(walker - cells.own(), std::ptrdiff_t{i});
        test.equal(walker.offset(), cells.own().offset() + i * sizeof(std::uint32_t));
        selion::put(walker, i * i);
    }
    walker -= 16;
    test.that(walker == cells.own(), "back at the start");
    walker += 5;
    test.equal(selion::get(walker - 2), 9u);
    test.equal(selion::get(walker), 25u);
    test.that(cells.own() < walker, "pointers of one rank are ordered by place");
}

SPMD_TEST(pointer, null_is_nobodys) {
    const selion::global_ptr<int> null;
    test.that(!null, "a null pointer is false");
    test.that(null == selion::global_ptr<int>(nullptr), "all null pointers are equal");
    test.that(null.local() == nullptr, "null is mapped nowhere");
    test.that((null + 3).local() == nullptr, "nor is what is counted from it");
    test.that(null.on(0).local() == nullptr, "nor is null of a rank");
    spmd::symmetric_array<selion::global_ptr<int>> links(world, 2);
    test.that(!links.mine()[1], "memory that has been allocated holds null pointers");
}

SPMD_TEST(pointer, plain_access_sees_puts_and_gets_see_plain_stores) {
    spmd::symmetric_array<std::uint64_t> cells(world, 2);
    cells.mine()[0] = 1000 + world.rank();
    world.barrier();
    const std::uint32_t peer = test.neighbour();
    test.equal(selion::get(cells.at(peer, 0)), std::uint64_t{1000} + peer);
    selion::put(cells.at(peer, 1), std::uint64_t{2000} + world.rank());
    world.barrier();
    test.equal(cells.mine()[1], std::uint64_t{2000} + test.neighbour_before());
    if (std::uint64_t* there = cells.at(peer, 1).local()) {
        test.equal(*there, std::uint64_t{2000} + world.rank());
    }
}

SPMD_TEST(pointer, pointers_travel_as_values) {
    // A pointer to memory of one rank alone, handed to its neighbour.
    spmd::symmetric_array<selion::global_ptr<std::uint32_t>> mailbox(world, 1);
    const auto own = selion::allocate_local<std::uint32_t>(world, 1);
    selion::put(own, world.rank() * 3 + 1);
    selion::put(mailbox.at(test.neighbour()), own);
    world.barrier();
    const auto theirs = *mailbox.mine();
    test.equal(std::uint32_t{theirs.rank()}, std::uint32_t{test.neighbour_before()});
    test.equal(selion::get(theirs), test.neighbour_before() * 3 + 1);
    world.barrier();
    selion::deallocate_local(world, own);
}

SPMD_TEST(pointer, constant_elements_can_be_read) {
    spmd::symmetric_array<std::uint32_t> cells(world, 4);
    for (std::uint32_t i = 0; i < 4; ++i) cells.mine()[i] = world.rank() * 10 + i;
    world.barrier();
    const selion::global_ptr<const std::uint32_t> read_only = cells.at(test.neighbour());
    test.equal(selion::get(read_only + 3), test.neighbour() * 10 + 3);
    std::array<std::uint32_t, 4> copy{};
    selion::get(std::span(copy), read_only);
    test.equal(copy[2], test.neighbour() * 10 + 2);
}

SPMD_TEST(pointer, pointers_step_and_are_keys) {
    spmd::symmetric_array<std::uint32_t> cells(world, 4);
    auto place = cells.at(test.neighbour());
    const auto first = place;
    test.that(place++ == first, "it steps afterwards");
    test.that(place == first + 1 && ++place == first + 2, "it steps before");
    test.that(place-- == first + 2, "back afterwards");
    test.that(--place == first, "back before");
    const std::unordered_map<selion::global_ptr<std::uint32_t>, int> names{{first, 1},
                                                                           {first + 1, 2}};
    test.equal(names.at(place + 1), 2);
    world.barrier();
}

}  // namespace
