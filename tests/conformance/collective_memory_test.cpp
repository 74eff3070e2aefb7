// SPDX-License-Identifier: Apache-2.0
/// Collectives take memory as anything that a std::span can show.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "conformance/spmd.hpp"

namespace {

using word = std::uint32_t;
constexpr std::size_t few = 3;

/// Three words, in each kind of memory that a program may have.
struct kinds {
    explicit kinds(word first)
        : vector(few), array{}, fixed_span(fixed), plain_span(plain), c_array{} {
        fill(first);
    }
    kinds(const kinds&) = delete;
    kinds& operator=(const kinds&) = delete;
    void fill(word first) {
        for (const std::span<word> each : all()) std::iota(each.begin(), each.end(), first);
    }
    std::array<std::span<word>, 5> all() { return {vector, array, fixed, plain, c_array}; }

    std::vector<word> vector;
    std::array<word, few> array;
    std::array<word, few> fixed = {};
    std::array<word, few> plain = {};
    std::span<word, few> fixed_span;
    std::span<word> plain_span;
    word c_array[few];
};

/// Calls `one` with each of them; spans also as they come from a function.
template <class One>
void for_each_kind(kinds& memory, const One& one) {
    one(memory.vector);
    one(memory.array);
    one(memory.fixed_span);
    one(memory.plain_span);
    one(memory.c_array);
}
/// Those that are no single value.
template <class One>
void for_each_in_place(kinds& memory, const One& one) {
    one(memory.vector);
    one(memory.fixed_span);
    one(std::span(memory.plain_span));
    one(memory.c_array);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool gives_memory_back = false;  // sanitizers keep it for a while
#else
constexpr bool gives_memory_back = true;
#endif
/// Of this process.
std::size_t resident_bytes() {
    std::size_t all = 0;
    std::size_t resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

template <class Memory>
std::vector<word> words_of(const Memory& memory) {
    return {std::begin(memory), std::end(memory)};
}

SPMD_TEST(block_collectives, memory_is_combined_in_place) {
    const word size = world.size();
    const word rank = world.rank();
    const auto start = world.split_phase();
    kinds memory(0);
    for_each_in_place(memory, [&](auto&& data) {
        const std::vector<word> first{0, 1, 2};
        const std::vector<word> sum{0, size, 2 * size};
        const auto again = [&] { std::ranges::copy(first, std::begin(data)); };
        again();
        world.all_reduce(data, selion::plus);
        test.equal(words_of(data), sum);
        again();
        start.all_reduce(data, selion::plus).get();
        test.equal(words_of(data), sum);
        again();
        world.reduce(data, selion::plus, 0);
        test.equal(words_of(data), rank == 0 ? sum : first);
        again();
        start.reduce(data, selion::plus, 0).get();
        again();
        world.scan(data, selion::plus);
        test.equal(data[1], rank + 1);
        again();
        start.scan(data, selion::plus).get();
        test.equal(data[1], rank + 1);
        again();
        const word before = rank == 0 ? 7 : rank;
        world.exscan(data, selion::plus, 7);
        test.equal(data[1], before);
        again();
        start.exscan(data, selion::plus, 7).get();
        test.equal(data[1], before);
        std::ranges::fill(data, rank);
        world.broadcast(data, size - 1);
        test.equal(words_of(data), std::vector<word>(few, size - 1));
        std::ranges::fill(data, rank);
        start.broadcast(data, size - 1).get();
        test.equal(words_of(data), std::vector<word>(few, size - 1));
    });
    test.equal(world.broadcast(std::array<word, 2>{rank, 1}, 0)[0], 0u);
    std::string text = rank == 0 ? "abc" : "   ";
    world.broadcast(text, 0);
    test.equal(text, std::string("abc"));
}

SPMD_TEST(block_collectives, memory_of_blocks_for_each_member) {
    const std::size_t size = world.size();
    const word rank = world.rank();
    const auto start = world.split_phase();
    kinds memory(10 * rank);
    std::vector<word> all(few * size);
    std::vector<word> expected(few * size);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] = static_cast<word>(10 * (i / few) + i % few);
    }
    for_each_kind(memory, [&](auto& own) {
        world.all_gather(own, all);
        test.equal(all, expected);
        std::ranges::fill(all, 0u);
        start.all_gather(own, all).get();
        test.equal(all, expected);
        world.gather(own, std::span(all), 0);
        start.gather(own, all, 0).get();
    });
    kinds got(0);
    for_each_kind(got, [&](auto& own) {
        const std::vector<word> mine = words_of(memory.vector);
        std::ranges::fill(own, 0u);
        world.scatter(expected, own, 0);
        test.equal(words_of(own), mine);
        std::ranges::fill(own, 0u);
        start.scatter(expected, own, 0).get();
        test.equal(words_of(own), mine);
        world.reduce_scatter(expected, own, selion::maximum);
        test.equal(words_of(own), mine);
        start.reduce_scatter(expected, own, selion::maximum).get();
        test.equal(words_of(own), mine);
    });
    std::vector<word> sent(size, rank);
    std::vector<word> come(size);
    world.exchange(sent, come);
    test.equal(come.back(), static_cast<word>(size - 1));
    start.exchange(sent, come).get();
    test.equal(come.back(), static_cast<word>(size - 1));
}

SPMD_TEST(block_collectives, memory_of_blocks_that_differ_in_length) {
    const std::size_t size = world.size();
    const word rank = world.rank();
    const auto start = world.split_phase();
    kinds memory(10 * rank);
    const std::vector<std::size_t> counts(size, few);
    const std::vector<std::size_t> from_last = [&] {
        std::vector<std::size_t> none(size);
        none[size - 1] = few;
        return none;
    }();
    std::vector<word> all(few * size);
    for_each_kind(memory, [&](auto& own) {
        test.equal(world.gatherv(own, 0).values.size(), rank == 0 ? few * size : std::size_t{0});
        const auto everywhere = world.all_gatherv(own);
        test.equal(everywhere.of(world.size() - 1)[1], static_cast<word>(10 * (size - 1) + 1));
        start.gatherv(own, all, counts, 0).get();
        start.all_gatherv(own, all, counts).get();
        test.equal(all, everywhere.values);
        // Everybody sends all it has to the last one.
        const auto sent = world.exchangev(own, from_last);
        test.equal(sent.values.size(), rank + 1 == size ? few * size : std::size_t{0});
    });
    const std::vector<word> given = all;
    test.equal(world.scatterv(given, counts, 0), words_of(memory.vector));
    kinds got(0);
    for_each_kind(got, [&](auto& own) {
        start.scatterv(given, counts, own, 0).get();
        test.equal(words_of(own), words_of(memory.vector));
    });
    std::vector<word> come(rank + 1 == size ? few * size : 0);
    std::vector<std::size_t> comes(size, rank + 1 == size ? few : 0);
    start.exchangev(memory.c_array, from_last, come, comes).get();
    if (rank + 1 == size) test.equal(come, given);
}

SPMD_TEST(block_collectives, memory_of_an_exchange_in_place_is_given_back) {
    constexpr std::size_t bytes = std::size_t{64} << 20;
    const auto way = world.explain(selion::collective_kind::exchange, bytes / world.size()).choice;
    const bool is_direct = way.way == selion::collective_way::direct;
    if (!gives_memory_back || !is_direct || world.size() == 1 || world.size() > 4) return;
    if (!world.machine().capabilities.real_time) return;  // a simulation keeps memory of its own
    world.barrier();
    const std::size_t before = resident_bytes();
    world.barrier();
    {
        std::vector<std::byte> data(bytes / world.size() * world.size(), std::byte{1});
        world.exchange(data, data);
    }
    world.barrier();
    const std::size_t after = resident_bytes();
    world.barrier();
    test.that(after < before + bytes / 2, "nothing of it is kept");
}

/// Long blocks that a member gives, a block for each, and others that it gets.
class long_blocks {
public:
    static constexpr std::size_t count = 40'000;  // words of a block

    explicit long_blocks(const selion::world& world)
        : given(count * world.size()),
          got(count * world.size()),
          rank_(world.rank()),
          size_(world.size()) {}
    static word word_of(std::uint32_t from, std::uint32_t to, std::size_t turn) {
        return static_cast<word>(1 + from * 1'000'000 + to * 1'000 + turn);
    }
    static bool is_all(std::span<const word> block, word value) {
        return std::ranges::all_of(block, [value](word one) { return one == value; });
    }
    void fill(std::size_t turn) {
        for (std::uint32_t to = 0; to < size_; ++to) {
            std::ranges::fill(block_of(given, to), word_of(rank_, to, turn));
        }
    }
    /// After a call they are the caller's again.
    void spoil() { std::ranges::fill(given, 0u); }
    static std::span<word> block_of(std::vector<word>& all, std::uint32_t which) {
        return std::span(all).subspan(which * count, count);
    }
    std::span<word> first() { return block_of(given, 0); }

    std::vector<word> given;
    std::vector<word> got;

private:
    std::uint32_t rank_;
    std::uint32_t size_;
};

/// Makes a call in several turns. In each another one comes late, so that others have to keep what
/// they give.
template <class Call>
void in_turns(selion::world& world, Call call) {
    if (world.size() > 8) return;
    long_blocks blocks(world);
    for (std::size_t turn = 0; turn < 6; ++turn) {
        const auto late = static_cast<std::uint32_t>(turn) % world.size();
        if (world.rank() == late) std::this_thread::sleep_for(std::chrono::microseconds(500));
        call(blocks, turn, late);
    }
}

/// Long blocks may be read where they lie, by members that come late: until the call is over, and
/// not later.
SPMD_TEST(block_collectives, memory_that_was_given_is_the_callers_again_after_the_call) {
    in_turns(world, [&](long_blocks& blocks, std::size_t turn, std::uint32_t root) {
        const auto come_from_all = [&](std::uint32_t to, const char* what) {
            blocks.spoil();
            for (std::uint32_t from = 0; from < world.size(); ++from) {
                const auto block = long_blocks::block_of(blocks.got, from);
                test.that(long_blocks::is_all(block, long_blocks::word_of(from, to, turn)), what);
            }
        };
        const std::span<const word> own = blocks.first();
        const std::span<const word> all = blocks.given;
        blocks.fill(turn);
        world.exchange(all, blocks.got);
        come_from_all(world.rank(), "an exchange brings what was given");
        blocks.fill(turn);
        world.all_gather(own, blocks.got);
        come_from_all(0, "an all_gather brings what was given");
        blocks.fill(turn);
        const auto to = long_blocks::block_of(blocks.got, 0);
        world.scatter(all, to, root);
        blocks.spoil();
        test.that(long_blocks::is_all(to, long_blocks::word_of(root, world.rank(), turn)),
                  "a scatter brings what was given");
        blocks.fill(turn);
        world.broadcast(blocks.first(), root);
        test.that(long_blocks::is_all(own, long_blocks::word_of(root, 0, turn)),
                  "a broadcast brings what was given");
        blocks.fill(turn);
        const auto gathered = world.gatherv(own, root);
        blocks.spoil();
        for (std::uint32_t from = 0; world.rank() == root && from < world.size(); ++from) {
            test.that(long_blocks::is_all(gathered.of(from), long_blocks::word_of(from, 0, turn)),
                      "a gatherv brings what was given");
        }
    });
}

SPMD_TEST(block_collectives, memory_of_sums_is_the_callers_again_after_the_call) {
    in_turns(world, [&](long_blocks& blocks, std::size_t turn, std::uint32_t root) {
        const std::uint32_t rank = world.rank();
        const auto most = [&](std::uint32_t to) {
            return long_blocks::word_of(world.size() - 1, to, turn);
        };
        const std::span<const word> own = blocks.first();
        const std::span<const word> all = blocks.given;
        blocks.fill(turn);
        world.reduce(blocks.first(), selion::maximum, root);
        const word wanted = rank == root ? most(0) : long_blocks::word_of(rank, 0, turn);
        test.that(long_blocks::is_all(own, wanted), "a reduction of what was given, at its root");
        blocks.spoil();
        blocks.fill(turn);
        world.all_reduce(blocks.first(), selion::maximum);
        test.that(long_blocks::is_all(own, most(0)), "an all_reduce of what was given");
        blocks.spoil();
        blocks.fill(turn);
        const auto to = long_blocks::block_of(blocks.got, 0);
        world.reduce_scatter(all, to, selion::maximum);
        blocks.spoil();
        test.that(long_blocks::is_all(to, most(rank)), "a reduce_scatter of what was given");
        blocks.fill(turn);
        const auto block = long_blocks::block_of(blocks.given, rank);
        world.reduce_scatter(all, block, selion::maximum);
        test.that(long_blocks::is_all(block, most(rank)), "the same in place");
        blocks.spoil();
    });
}

/// What a process has in pieces that are too long for the C library to keep.
std::size_t long_pieces_bytes() { return mallinfo2().hblkhd; }
constexpr std::size_t long_piece_bytes = std::size_t{40} << 20;

/// Calls a collective with a vector of that length, which is gone afterwards. Shorter pieces a
/// thread keeps, up to 16 MiB.
/// @param copying members that copy it.
template <class Call>
void expect_no_long_piece_is_kept(selion::world& world, spmd::test_run& test, std::uint32_t copying,
                                  const Call& call) {
    if (!gives_memory_back || world.size() > 4 || !world.machine().capabilities.real_time) return;
    world.barrier();
    const std::size_t before = long_pieces_bytes();
    world.barrier();
    {
        std::vector<std::uint64_t> data(long_piece_bytes / sizeof(std::uint64_t), 1);
        call(data);
    }
    world.barrier();
    const std::size_t after = long_pieces_bytes();
    world.barrier();
    test.that(after < before + copying * (long_piece_bytes / 2), "no long piece is kept");
}

/// Copies of what a step changes, for members of the process.
SPMD_TEST(block_collectives, memory_of_copies_for_lines_is_given_back) {
    const selion::team all = world.split(0);
    all.choose(
        selion::collective_kind::all_reduce,
        selion::collective_choice{selion::collective_way::lines,
                                  {.algorithm = selion::schedule_algorithm::recursive_doubling}});
    expect_no_long_piece_is_kept(world, test, world.size(), [&](std::vector<std::uint64_t>& data) {
        all.all_reduce(std::span(data), selion::plus);
        test.equal(data.back(), std::uint64_t{world.size()});
    });
}

/// Before the rank starts another one, or asks for anything.
SPMD_TEST(block_collectives, memory_of_a_started_one_is_given_back_when_it_is_over) {
    const std::uint32_t parents = std::max(world.size() / 2, 1u);
    expect_no_long_piece_is_kept(world, test, parents, [&](std::vector<std::uint64_t>& data) {
        world.split_phase().reduce(data, selion::plus, 0).get();
        if (world.rank() == 0u) test.equal(data.back(), std::uint64_t{world.size()});
    });
}

}  // namespace
