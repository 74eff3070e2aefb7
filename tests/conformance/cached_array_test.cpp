// SPDX-License-Identifier: Apache-2.0
/// Coherent memory with the protocol, also where every rank's memory is mapped.
#include <cstdint>
#include <numeric>
#include <vector>

#include <selion/cached_array.hpp>

#include "conformance/spmd.hpp"

namespace {

using numbers = selion::cached_array<std::uint64_t, 1>;

constexpr selion::cached with_protocol(std::size_t block_bytes, std::size_t capacity_bytes = 0) {
    return {.block_bytes = block_bytes,
            .capacity_bytes = capacity_bytes,
            .protocol = selion::cache_protocol::always};
}

constexpr selion::cached with_releases(std::size_t block_bytes, selion::write_protocol writes,
                                       std::size_t capacity_bytes = 0) {
    selion::cached how = with_protocol(block_bytes, capacity_bytes);
    how.consistency = selion::memory_consistency::release;
    how.writes = writes;
    return how;
}
constexpr selion::write_protocol both_ways[] = {selion::write_protocol::invalidate,
                                                selion::write_protocol::update};

/// Small ones are of few elements, large ones of elements of one rank only.
constexpr std::size_t block_sizes[] = {8, 64, 1024};

/// Whose turn it is to write an element.
std::uint32_t writer_of(std::size_t element, std::uint64_t round, std::uint32_t ranks) {
    return static_cast<std::uint32_t>((element * 2654435761u + round * 40503u) % ranks);
}
std::uint64_t value_of(std::size_t element, std::uint64_t round) {
    return element * 1'000'000 + round;
}

/// Every element is written by some rank each round, and read by all or by a few.
void write_and_read(spmd::test_run& test, selion::world& world, const numbers& array,
                    std::uint64_t rounds) {
    const std::size_t size = array.extent(0);
    std::size_t wrong = 0;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        for (std::size_t i = 0; i < size; ++i) {
            if (writer_of(i, round, world.size()) == world.rank()) array(i) = value_of(i, round);
        }
        world.barrier();
        const std::size_t step = 1 + round % 3;
        for (std::size_t i = world.rank() % step; i < size; i += step) {
            if (array(i) != value_of(i, round)) ++wrong;
        }
        world.barrier();
    }
    test.equal(wrong, std::size_t{0});
}

}  // namespace

SPMD_TEST(cached_array, what_was_written_last_is_read) {
    for (const std::size_t block_bytes : block_sizes) {
        const numbers array(world, {96}, selion::runs{5}, with_protocol(block_bytes));
        write_and_read(test, world, array, test.rounds(12, 3));
        selion::deallocate(world, array);
    }
}

SPMD_TEST(cached_array, room_for_few_copies) {
    const numbers array(world, {96}, selion::runs{1}, with_protocol(16, 48));
    write_and_read(test, world, array, test.rounds(12, 3));
    selion::deallocate(world, array);
}

SPMD_TEST(cached_array, what_was_written_before_a_release_is_read_after_it) {
    for (const selion::write_protocol writes : both_ways) {
        for (const std::size_t block_bytes : block_sizes) {
            const numbers array(world, {96}, selion::runs{5}, with_releases(block_bytes, writes));
            write_and_read(test, world, array, test.rounds(12, 3));
            selion::deallocate(world, array);
        }
        const numbers array(world, {96}, selion::runs{1}, with_releases(16, writes, 48));
        write_and_read(test, world, array, test.rounds(12, 3));
        selion::deallocate(world, array);
    }
}

/// What a rank tells its neighbour in.
struct mailbox {
    selion::signal told;
    std::uint64_t data;
    std::uint64_t count;
};
selion::global_ptr<selion::signal> signal_in(selion::global_ptr<mailbox> box) {
    return box.member(&mailbox::told);
}

/// One of the calls that are releases. @return whether it has told the neighbour too.
bool release_in_way(std::uint64_t way, selion::global_ptr<mailbox> box, std::uint32_t neighbour) {
    switch (way) {
        case 0: selion::notify(signal_in(box), selion::signal_add(1)); return true;
        case 1:
            selion::put_signal(box.member(&mailbox::data), way, signal_in(box),
                               selion::signal_add(1));
            return true;
        case 2: {
            constexpr auto tell = [](selion::global_ptr<selion::signal> own) {
                selion::notify(own, selion::signal_add(1));
            };
            selion::rpc(neighbour, tell, signal_in(box)).get();
            return true;
        }
        case 3: selion::fence(); return false;
        case 4: selion::quiet(); return false;
        default: selion::quiet(selion::rank_id(neighbour)); return false;
    }
}

SPMD_TEST(cached_array, all_that_announces_is_a_release) {
    const auto boxes = selion::allocate<mailbox>(world, 1);
    const auto next = boxes.on(test.neighbour());
    const auto mine = boxes.on(world.rank());
    const std::uint32_t writer = (world.rank() + world.size() - 1) % world.size();
    std::uint64_t signals = 0;
    std::uint64_t counts = 0;
    for (const selion::write_protocol writes : both_ways) {
        const numbers array(world, {std::size_t{world.size()}}, selion::runs{1},
                            with_releases(64, writes));
        std::uint64_t wrong = 0;
        for (std::size_t i = 0; i < array.extent(0); ++i) wrong += array(i) != 0;
        for (std::uint64_t way = 0; way < 6; ++way) {
            world.barrier();
            array(test.neighbour()) = (way + 1) * 100 + world.rank();
            if (release_in_way(way, next, test.neighbour())) {
                selion::wait_until(signal_in(mine), ++signals);
            } else {
                selion::fetch_add(next.member(&mailbox::count), 1);
                ++counts;
                const auto count = mine.member(&mailbox::count);
                while (selion::atomic_get(count) < counts) selion::progress();
            }
            wrong += array(world.rank()) != (way + 1) * 100 + writer;
        }
        test.equal(wrong, std::uint64_t{0});
        world.barrier();
        selion::deallocate(world, array);
    }
    selion::deallocate(world, boxes);
}

/// Ranks that write different elements of a block take it from nobody.
SPMD_TEST(cached_array, updates_leave_copies_where_they_are) {
    const std::uint32_t ranks = world.size();
    const numbers array(world, {std::size_t{ranks} * 8}, selion::runs{8},
                        with_releases(64, selion::write_protocol::update));
    const std::size_t theirs = std::size_t{test.neighbour()} * 8;
    std::uint64_t wrong = array(theirs) != 0 ? 1u : 0u;
    world.barrier();
    for (std::uint64_t round = 1; round <= test.rounds(20, 5); ++round) {
        array(world.rank() * std::size_t{8} + 1) = round;
        array(theirs + 2) = round + 1;
        world.barrier();
        wrong += array(theirs + 1) != round;
        wrong += array(world.rank() * std::size_t{8} + 2) != round + 1;
        world.barrier();
    }
    test.equal(wrong, std::uint64_t{0});
    const selion::cache_counts counts = array.space().counts();
    const bool is_alone = ranks == 1;
    test.equal(counts.invalidations_received, std::uint64_t{0});
    test.equal(counts.blocks_received, std::uint64_t{is_alone ? 0u : 1u});
    // One of what the rank has written elsewhere, and one of its own for who has a copy.
    if (!is_alone) test.equal(counts.updates_sent, 2 * std::uint64_t{test.rounds(20, 5)});
    world.barrier();
    selion::deallocate(world, array);
}

SPMD_TEST(cached_array, all_add_to_the_same_elements) {
    constexpr std::size_t elements = 5;
    const numbers array(world, {elements}, selion::runs{2}, with_protocol(32));
    const std::uint32_t times = test.rounds(200);
    for (std::uint32_t i = 0; i < times; ++i) {
        array(i % elements).fetch_add(1);
        array((i + world.rank()) % elements) += 2;
    }
    world.barrier();
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < elements; ++i) sum += array(i);
    test.equal(sum, std::uint64_t{3} * times * world.size());
    selion::deallocate(world, array);
}

SPMD_TEST(cached_array, compare_swap_is_a_lock) {
    const numbers array(world, {3}, selion::runs{1}, with_protocol(8));
    const std::uint32_t times = test.rounds(20);
    for (std::uint32_t i = 0; i < times; ++i) {
        while (array(0).compare_swap(0, world.rank() + 1) != 0) selion::progress();
        array(1) = array(1) + 1;
        array(2) = array(2) + array(1);
        array(0) = 0;
    }
    world.barrier();
    const std::uint64_t turns = std::uint64_t{times} * world.size();
    test.equal(std::uint64_t{array(1)}, turns);
    test.equal(std::uint64_t{array(2)}, turns * (turns + 1) / 2);
    selion::deallocate(world, array);
}

SPMD_TEST(cached_array, boxes_are_read_and_written_across_blocks) {
    using matrix = selion::cached_array<double, 2>;
    for (const std::size_t block_bytes : block_sizes) {
        const matrix array(world, {12, 10}, selion::tiles(3, 4), with_protocol(block_bytes));
        if (world.rank() == world.size() - 1) {
            std::vector<double> all(120);
            std::iota(all.begin(), all.end(), 0);
            array.write({{0, 0}, {12, 10}}, all);
        }
        world.barrier();
        array.prefetch({{2, 3}, {5, 4}});
        std::vector<double> part(20, -1);
        array.read({{2, 3}, {5, 4}}, part);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < 5; ++i) {
            for (std::size_t j = 0; j < 4; ++j) {
                if (part[i * 4 + j] != static_cast<double>((i + 2) * 10 + j + 3)) ++wrong;
            }
        }
        double one = 0;
        {
            selion::transfers under_way;
            array.get(under_way, {11, 9}, one);
            array.put(under_way, {world.rank() % 12, 0}, 7.5);
        }
        test.equal(wrong, std::size_t{0});
        test.equal(one, 119.0);
        test.equal(double{array(world.rank() % 12, 0)}, 7.5);
        selion::deallocate(world, array);
    }
}

SPMD_TEST(cached_array, arrays_of_a_space_share_blocks) {
    const selion::coherent_space space(world, 4096, with_protocol(256));
    space.skip(112);
    const numbers first(space, {32}, selion::runs{1}, "first");
    const numbers second(space, {32}, selion::runs{1}, "second");
    for (std::size_t i = world.rank(); i < 32; i += world.size()) {
        first(i) = i;
        second((i + 5) % 32) = 100 + i;
    }
    world.barrier();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < 32; ++i) {
        if (first(i) != i || second((i + 5) % 32) != 100 + i) ++wrong;
    }
    test.equal(wrong, std::size_t{0});
    selion::deallocate(world, space);
}

/// Whose copies shared a block finds itself in the array that had the misses.
SPMD_TEST(cached_array, false_sharing_is_of_the_array_that_has_it) {
    selion::cached how = with_protocol(256);
    how.has_statistics = true;
    const selion::coherent_space space(world, 1024, how);
    space.skip(104);
    const std::size_t each = 8;
    const numbers before(space, {each * world.size()}, selion::runs{each}, "before");
    const numbers after(space, {each * world.size()}, selion::runs{each}, "after");
    for (std::uint64_t round = 1; round <= 4; ++round) {
        if (test.neighbour() == 0) static_cast<void>(after(1).get());
        world.barrier();
        if (world.rank() == 0) after(0) = round;
        world.barrier();
    }
    const auto worst = space.false_sharing();
    const bool is_alone = world.size() == 1;
    test.equal(worst.size(), std::size_t{test.neighbour() == 0 && !is_alone ? 1u : 0u});
    for (const selion::false_sharing& one : worst) {
        test.equal(one.array, std::string("after"));
        test.equal(one.offset, std::uint64_t{0});
        test.equal(one.useless_misses, std::uint64_t{3});
    }
    world.barrier();
    selion::deallocate(world, space);
}

template <class T>
void keep_aligned(spmd::test_run& test, selion::world& world, std::size_t block_bytes) {
    const std::size_t each = 3;
    const selion::cached_array<T, 1> array(world, {each * world.size()}, selion::runs{each},
                                           with_protocol(block_bytes));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < each; ++i) {
        const auto element = array(each * test.neighbour() + i);
        wrong += element.address().bits() % alignof(T) != 0;
        element.set(T{i});
    }
    world.barrier();
    for (std::size_t i = 0; i < array.extent(0); ++i) {
        const T element = array(i);
        wrong += element.value != i % each;
    }
    test.equal(wrong, std::size_t{0});
    world.barrier();
    selion::deallocate(world, array);
}

SPMD_TEST(cached_array, elements_are_aligned_in_all_blocks) {
    struct alignas(256) wide {
        std::size_t value;
    };
    for (const std::size_t block_bytes : {8u, 64u, 256u, 1024u}) {
        keep_aligned<wide>(test, world, block_bytes);
    }
}

/// Copies that are only read are as their homes' memory is.
SPMD_TEST(cached_array, what_was_flushed_may_be_read_by_all) {
    const numbers array(world, {32 * world.size()}, selion::runs{32}, with_protocol(64));
    const std::size_t theirs = 32 * std::size_t{test.neighbour()};
    world.barrier();
    std::uint64_t sum = array(theirs + 20);
    world.barrier();
    array(theirs) = 7;
    array.space().flush();
    world.barrier();
    for (std::size_t i = 0; i < array.extent(0); ++i) sum += array.memory()(i);
    test.equal(sum, std::uint64_t{7} * world.size());
    world.barrier();
    selion::deallocate(world, array);
}

SPMD_TEST(cached_array, what_was_flushed_is_in_its_home) {
    const numbers array(world, {24}, selion::runs{3}, with_protocol(64));
    const std::size_t size = array.extent(0);
    for (std::size_t i = 0; i < size; ++i) {
        if (writer_of(i, 1, world.size()) == world.rank()) array(i) = value_of(i, 1);
    }
    array.space().flush();
    world.barrier();
    std::size_t wrong = 0;
    array.memory().for_mine([&](const std::uint64_t& element, std::size_t i) {
        if (element != value_of(i, 1)) ++wrong;
    });
    world.barrier();
    for (std::size_t i = 0; i < size; ++i) wrong += array(i) != value_of(i, 1);
    array.space().invalidate();
    world.barrier();
    array.memory().for_mine(
        [](std::uint64_t& element, std::size_t i) { element = value_of(i, 2); });
    world.barrier();
    for (std::size_t i = 0; i < size; ++i) wrong += array(i) != value_of(i, 2);
    test.equal(wrong, std::size_t{0});
    world.barrier();
    selion::deallocate(world, array);
}

/// Homes know of copies that made room without a word, too: nothing stands against direct access.
SPMD_TEST(cached_array, all_copies_are_given_up) {
    for (const selion::write_protocol writes : both_ways) {
        const std::size_t each = 40;
        const numbers array(world, {each * world.size()}, selion::runs{each},
                            with_releases(16, writes, 48));
        const std::size_t theirs = each * test.neighbour();
        std::uint64_t wrong = 0;
        for (std::size_t i = 0; i < each; ++i) wrong += array(theirs + i) != 0;
        array(theirs + 7) = 5;
        array.space().invalidate();
        world.barrier();
        const std::size_t mine = each * world.rank();
        wrong += array.memory()(mine + 7) != 5;
        for (std::size_t i = 0; i < each; ++i) array.memory()(mine + i) = i;
        world.barrier();
        for (std::size_t i = 0; i < each; ++i) wrong += array(theirs + i) != i;
        test.equal(wrong, std::uint64_t{0});
        world.barrier();
        selion::deallocate(world, array);
    }
}

SPMD_TEST(cached_array, accesses_are_counted) {
    selion::cached how = with_protocol(64);
    how.has_statistics = true;
    const numbers array(world, {16 * std::size_t{world.size()}}, selion::runs{16}, how, "counted");
    const std::size_t mine = 16 * std::size_t{world.rank()};
    for (std::size_t i = 0; i < 16; ++i) array(mine + i) = i;
    world.barrier();
    const std::size_t theirs = 16 * std::size_t{test.neighbour()};
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < 16; ++i) sum += array(theirs + i);
    test.equal(sum, std::uint64_t{120});
    const selion::access_counts counts = array.accesses();
    test.equal(counts.writes, std::uint64_t{16});
    test.equal(counts.untouched_writes, std::uint64_t{16});
    test.equal(counts.reads, std::uint64_t{16});
    const bool is_alone = world.size() == 1;
    test.equal(counts.remote_reads, std::uint64_t{is_alone ? 0u : 16u});
    test.equal(counts.read_misses, std::uint64_t{is_alone ? 0u : 2u});
    test.equal(counts.cold, std::uint64_t{is_alone ? 0u : 2u});
    world.barrier();
    const selion::cache_counts blocks = array.space().counts();
    test.equal(blocks.copy_entries, std::uint64_t{is_alone ? 0u : 2u});
    test.equal(blocks.home_entries, std::uint64_t{is_alone ? 0u : 2u});
    // Two lines have accessed it: of 16 writes and of 16 reads.
    test.equal(array.space().accesses_by_line().size(), std::size_t{2});
    world.barrier();
    if (world.rank() == 0) array(5) = 77;
    world.barrier();
    if (test.neighbour() == 0 && !is_alone) {
        test.equal(std::uint64_t{array(5)}, std::uint64_t{77});
        test.equal(std::uint64_t{array(15)}, std::uint64_t{15});
        test.equal(array.accesses().invalidated, std::uint64_t{1});
        test.equal(array.accesses().useless, std::uint64_t{0});
    }
    world.barrier();
    if (world.rank() == 0) array(5) = 78;
    world.barrier();
    if (test.neighbour() == 0 && !is_alone) {
        test.equal(std::uint64_t{array(6)}, std::uint64_t{6});
        test.equal(array.accesses().invalidated, std::uint64_t{2});
        test.equal(array.accesses().useless, std::uint64_t{1});
        const auto worst = array.space().false_sharing();
        test.equal(worst.size(), std::size_t{1});
        if (!worst.empty()) {
            test.equal(worst[0].array, std::string("counted"));
            test.equal(worst[0].offset, std::uint64_t{0});
            test.equal(worst[0].home, std::uint32_t{0});
        }
    }
    world.barrier();
    selion::deallocate(world, array);
}

SPMD_TEST(cached_array, blocks_come_before_they_are_wanted) {
    const std::size_t each = 256;
    const std::size_t size = each * world.size();
    for (const auto kind : {selion::prefetch_kind::next, selion::prefetch_kind::strided}) {
        selion::cached how = with_protocol(32);
        how.prefetch = kind;
        const numbers array(world, {size}, selion::runs{each}, how);
        array.for_mine([](auto element, std::size_t i) { element = 3 * i; });
        world.barrier();
        const std::size_t theirs = each * std::size_t{test.neighbour()};
        const std::size_t step = kind == selion::prefetch_kind::next ? 1 : 12;
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < each; i += step) {
            if (array(theirs + i) != 3 * (theirs + i)) ++wrong;
        }
        test.equal(wrong, std::size_t{0});
        const selion::cache_counts counts = array.space().counts();
        if (world.size() > 1) test.at_least(counts.prefetched_used, std::uint64_t{8});
        test.at_least(counts.prefetched, counts.prefetched_used);
        world.barrier();
        selion::deallocate(world, array);
    }
}

SPMD_TEST(cached_array, without_the_protocol_it_is_the_same) {
    const numbers array(world, {96}, selion::runs{5}, selion::cached{});
    write_and_read(test, world, array, test.rounds(6, 2));
    array(3) += 5;
    world.barrier();
    test.equal(std::uint64_t{array(3)}, value_of(3, test.rounds(6, 2)) + 5 * world.size());
    world.barrier();
    selion::deallocate(world, array);
}

/// Store buffering: sequential consistency forbids that both read what was there before.
SPMD_TEST(cached_array, two_writers_do_not_both_miss_each_other) {
    const numbers array(world, {2 * std::size_t{world.size()}}, selion::runs{1}, with_protocol(8));
    const std::uint32_t times = test.rounds(400);
    std::uint64_t both_missed = 0;
    for (std::uint32_t i = 1; i <= times; ++i) {
        const std::uint32_t pair = world.rank() / 2;
        const std::uint32_t me = world.rank() % 2;
        const std::size_t first = std::size_t{pair} * 2;
        if (first + 1 < world.size()) {
            array(first + me) = i;
            const std::uint64_t seen = array(first + 1 - me);
            array(world.size() + first + me) = seen;
        }
        world.barrier();
        if (first + 1 < world.size()) {
            const bool first_missed = array(world.size() + first) != i;
            const bool second_missed = array(world.size() + first + 1) != i;
            both_missed += first_missed && second_missed;
        }
        world.barrier();
    }
    test.equal(both_missed, std::uint64_t{0});
    selion::deallocate(world, array);
}
