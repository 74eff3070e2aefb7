// SPDX-License-Identifier: Apache-2.0
/// Blocks that descriptors tell of, and stores one by one, to every machine's memory.
#include <array>
#include <numeric>

#include "conformance/memory_parts.hpp"

namespace {

using descriptor = selion::dma_descriptor<std::int32_t>;

std::vector<std::int32_t> numbered(std::size_t count, std::uint32_t rank) {
    std::vector<std::int32_t> all(count);
    std::iota(all.begin(), all.end(), static_cast<std::int32_t>(1000 * (rank + 1)));
    return all;
}

SPMD_TEST(dma, a_row_and_a_rectangle) {
    constexpr std::size_t side = 9;
    spmd::symmetric_array<std::int32_t> field(world, side * side);
    const std::vector<std::int32_t> own = numbered(12, world.rank());
    const selion::rank_id to = test.neighbour();
    selion::counter done;
    selion::start_dma(descriptor{field.at(to, 0), own.data(), side}, {.completion = &done});
    done.wait(1);
    // Three rows of four, from rows of four, into rows of nine.
    selion::start_dma(descriptor{.target = field.at(to, 2 * side + 3),
                                 .source = own.data(),
                                 .columns = 4,
                                 .rows = 3,
                                 .target_stride = side,
                                 .source_stride = 4},
                      {.completion = &done});
    done.wait(1);
    world.barrier();
    const std::vector<std::int32_t> sent = numbered(12, test.neighbour_before());
    for (std::size_t i = 0; i < side * side; ++i) {
        const std::size_t row = i / side;
        const std::size_t column = i % side;
        const bool is_in_block = row >= 2 && row < 5 && column >= 3 && column < 7;
        const std::int32_t expected = row == 0      ? sent[column]
                                      : is_in_block ? sent[(row - 2) * 4 + column - 3]
                                                    : 0;
        test.equal(field.mine()[i], expected);
    }
    world.barrier();
}

SPMD_TEST(dma, a_chain_to_all_ranks_counts_each_block) {
    spmd::symmetric_array<std::int32_t> field(world, std::size_t{3} * world.size());
    const std::vector<std::int32_t> own = numbered(3, world.rank());
    std::vector<descriptor> chain;
    for (std::uint32_t to = 0; to < world.size(); ++to) {
        chain.push_back({field.at(to, std::size_t{3} * world.rank()), own.data(), own.size()});
    }
    selion::counter source_free;
    selion::counter done;
    selion::start_dma(std::span<const descriptor>(chain),
                      {.origin = &source_free, .completion = &done});
    source_free.wait(chain.size());
    done.wait(chain.size());
    test.equal(done.value(), 0);
    world.barrier();
    for (std::uint32_t from = 0; from < world.size(); ++from) {
        const std::vector<std::int32_t> sent = numbered(3, from);
        for (std::size_t i = 0; i < 3; ++i) test.equal(field.mine()[from * 3 + i], sent[i]);
    }
    world.barrier();
}

SPMD_TEST(dma, empty_blocks_count_and_the_target_can_wait) {
    spmd::symmetric_array<std::int32_t> field(world, 4);
    spmd::symmetric_array<selion::counter> arrived(world, 1);
    const std::vector<std::int32_t> own = numbered(4, world.rank());
    const selion::rank_id to = test.neighbour();
    const std::array<descriptor, 3> chain{
        descriptor{field.at(to), own.data(), 0},
        descriptor{.target = field.at(to), .source = own.data(), .columns = 4, .rows = 0},
        descriptor{field.at(to), own.data(), 4}};
    selion::start_dma(chain, {.target = arrived.at(to)});
    selion::start_dma(std::span<const descriptor>());
    arrived.mine()->wait(chain.size());
    const std::vector<std::int32_t> sent = numbered(4, test.neighbour_before());
    for (std::size_t i = 0; i < 4; ++i) test.equal(field.mine()[i], sent[i]);
    world.barrier();
}

/// What comes after a transfer to the same rank finds it there, however long the engine works.
SPMD_TEST(dma, what_is_sent_after_it_takes_effect_after_it) {
    constexpr std::size_t many = 500;
    spmd::symmetric_array<std::int32_t> field(world, many);
    spmd::symmetric_array<std::int64_t> words(world, 1);
    spmd::symmetric_array<selion::signal> arrived(world, 1);
    const selion::rank_id to = test.neighbour();
    const std::vector<std::int32_t> ones(many, 1);
    const descriptor transfer{field.at(to), ones.data(), many};
    // A put to the same place stays.
    selion::start_dma(transfer);
    selion::put(field.at(to), std::int32_t{2});
    // Who sees a signal sees what was sent before it; so does who is asked for a value.
    selion::put_signal(words.at(to), std::int64_t{7}, arrived.at(to), selion::signal_set(1));
    test.equal(selion::get(field.at(to, many - 1)), 1);
    selion::wait_until(arrived.at(world.rank()), 1);
    test.equal(field.mine()[0], 2);
    test.equal(field.mine()[many - 1], 1);
    world.barrier();
    // An atomic, and quiet for one rank alone.
    const std::vector<std::int32_t> threes(many, 3);
    selion::start_dma(descriptor{field.at(to), threes.data(), many});
    static_cast<void>(selion::fetch_add(words.at(to), std::int64_t{1}));
    test.equal(selion::get(field.at(to, many - 1)), 3);
    selion::start_dma(transfer);
    selion::quiet(to);
    test.equal(selion::get(field.at(to)), 1);
    world.barrier();
}

SPMD_TEST(put_elements, arrive_whatever_their_size) {
    spmd::symmetric_array<std::int32_t> words(world, 33);
    spmd::symmetric_array<double> reals(world, 3);
    spmd::symmetric_array<char> letters(world, 5);
    const selion::rank_id to = test.neighbour();
    const std::vector<std::int32_t> own = numbered(33, world.rank());
    const double some[] = {0.5, 1.5, 2.5};
    const char text[] = {'a', 'b', 'c', 'd', 'e'};
    selion::put_elements(words.at(to), own);
    selion::put_elements(reals.at(to), some);
    selion::put_elements(letters.at(to), text);
    selion::put_elements(words.at(to), std::span<const std::int32_t>());
    world.barrier();
    const std::vector<std::int32_t> sent = numbered(33, test.neighbour_before());
    for (std::size_t i = 0; i < 33; ++i) test.equal(words.mine()[i], sent[i]);
    for (std::size_t i = 0; i < 3; ++i) test.equal(reals.mine()[i], some[i]);
    for (std::size_t i = 0; i < 5; ++i) test.equal(letters.mine()[i], text[i]);
    world.barrier();
}

}  // namespace
