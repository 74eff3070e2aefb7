// SPDX-License-Identifier: Apache-2.0
/// Blocks and lists of pieces, to and from every rank.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "conformance/memory_parts.hpp"

namespace {

/// A cube in each rank's memory, and a smaller one that is moved into and out of it.
constexpr std::size_t side = 9;
constexpr std::size_t part = 4;

std::size_t place(std::size_t z, std::size_t y, std::size_t x) { return (z * side + y) * side + x; }

std::vector<std::int32_t> numbered(std::size_t count, std::uint32_t rank) {
    std::vector<std::int32_t> all(count);
    std::iota(all.begin(), all.end(), static_cast<std::int32_t>(1000 * (rank + 1)));
    return all;
}

SPMD_TEST(strided, a_cube_in_a_cube) {
    spmd::symmetric_array<std::int32_t> cube(world, side * side * side);
    spmd::symmetric_array<selion::counter> arrived(world, 1);
    const std::vector<std::int32_t> own = numbered(part * part * part, world.rank());
    const std::array<selion::stride, 2> outer{
        selion::stride{.count = part, .target = side, .source = part},
        selion::stride{.count = part, .target = side * side, .source = part * part}};
    selion::counter done;
    const selion::rank_id to = test.neighbour();
    selion::put_strided(cube.at(to, place(2, 3, 1)), own.data(), part, outer,
                        {.origin = &done, .target = arrived.at(to), .completion = &done});
    done.wait(2);
    arrived.mine()->wait(1);
    const std::vector<std::int32_t> expected =
        numbered(part * part * part, test.neighbour_before());
    std::size_t filled = 0;
    for (std::size_t z = 0; z < part; ++z) {
        for (std::size_t y = 0; y < part; ++y) {
            for (std::size_t x = 0; x < part; ++x) {
                test.equal(cube.mine()[place(z + 2, y + 3, x + 1)],
                           expected[(z * part + y) * part + x]);
            }
        }
    }
    for (std::size_t i = 0; i < side * side * side; ++i) filled += cube.mine()[i] != 0 ? 1 : 0;
    test.equal(filled, part * part * part);
    // And back, with the sides' roles exchanged.
    std::vector<std::int32_t> back(part * part * part);
    const std::array<selion::stride, 2> inner{
        selion::stride{.count = part, .target = part, .source = side},
        selion::stride{.count = part, .target = part * part, .source = side * side}};
    selion::get_strided(back.data(), cube.at(to, place(2, 3, 1)), part, inner);
    test.that(back == own, "what was put comes back");
    selion::get_strided(back.data(), cube.at(to, place(2, 3, 1)), part, inner,
                        {.completion = &done});
    done.wait(1);
    world.barrier();
}

/// As many as are possible, of which some have one element only.
SPMD_TEST(strided, a_block_of_sixteen_dimensions_outside_its_rows) {
    spmd::symmetric_array<std::int32_t> cells(world, 64);
    std::array<selion::stride, 16> outer;
    outer.fill({.count = 1, .target = 7, .source = 5});
    outer.front() = {.count = 2, .target = 4, .source = 2};
    outer.back() = {.count = 2, .target = 32, .source = 4};
    const std::vector<std::int32_t> own = numbered(8, world.rank());
    selion::put_strided(cells.at(test.neighbour()), own.data(), 2, outer);
    world.barrier();
    const std::vector<std::int32_t> expected = numbered(8, test.neighbour_before());
    const std::array<std::size_t, 4> rows{0, 4, 32, 36};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        test.equal(cells.mine()[rows[i]], expected[2 * i]);
        test.equal(cells.mine()[rows[i] + 1], expected[2 * i + 1]);
    }
    world.barrier();
}

/// Rows and pieces are puts: what follows to their rank comes after all of them.
SPMD_TEST(strided, a_signal_that_follows_is_seen_after_all_rows_and_pieces) {
    constexpr std::size_t rows = 40;
    spmd::symmetric_array<std::uint64_t> cells(world, 4 * rows);
    spmd::symmetric_array<selion::signal> bell(world, 2);
    const selion::rank_id to = test.neighbour();
    const std::array<selion::stride, 1> apart{{{.count = rows, .target = 4, .source = 2}}};
    std::vector<std::uint64_t> sent(2 * rows);
    selion::counter done;
    for (std::uint64_t round = 1; round <= test.rounds(200, 20); ++round) {
        std::ranges::fill(sent, round);
        const selion::counters how =
            round % 2 == 0 ? selion::counters{.completion = &done} : selion::counters{};
        selion::put_strided(cells.at(to), sent.data(), 2, apart, how);
        std::vector<selion::put_piece<std::uint64_t>> pieces;
        for (std::size_t i = 0; i < rows; ++i) {
            pieces.push_back({cells.at(to, 4 * i + 2), std::span(sent).subspan(i, 1)});
        }
        selion::put_vector(pieces, how);
        selion::notify(bell.at(to), selion::signal_set(round));
        selion::wait_until(bell.own(), round);
        std::uint64_t old = 0;
        for (std::size_t i = 0; i < 4 * rows; ++i) {
            old += i % 4 != 3 && cells.mine()[i] != round ? 1 : 0;
        }
        test.equal(old, 0u);
        if (how.completion != nullptr) done.wait(2);  // the source may be changed
        // The neighbour has looked.
        const std::uint32_t before = test.neighbour_before();
        selion::notify(bell.at(before, 1), selion::signal_set(round));
        selion::wait_until(bell.own(1), round);
    }
    world.barrier();
}

SPMD_TEST(strided, columns_backwards_and_nothing) {
    spmd::symmetric_array<std::uint16_t> cells(world, 64);
    const std::array<std::uint16_t, 4> own{1, 2, 3, 4};
    const selion::rank_id to = test.neighbour();
    const std::array<selion::stride, 1> column{
        selion::stride{.count = 4, .target = -8, .source = 1}};
    selion::put_strided(cells.at(to, 60), own.data(), 1, column);
    const std::array<selion::stride, 1> none{selion::stride{.count = 0, .target = 1, .source = 1}};
    selion::counter done;
    selion::put_strided(cells.at(to, 0), own.data(), 1, none, {.completion = &done});
    done.wait(1);
    selion::put_strided(cells.at(to, 0), own.data(), 2, {});
    world.barrier();
    test.equal(cells.mine()[60], 1);
    test.equal(cells.mine()[36], 4);
    test.equal(cells.mine()[1], 2);
    test.equal(cells.mine()[2], 0);
    world.barrier();
}

SPMD_TEST(strided, a_list_of_pieces) {
    constexpr std::size_t pieces = 150;
    spmd::symmetric_array<std::uint64_t> cells(world, 3 * pieces + 10);
    spmd::symmetric_array<selion::counter> arrived(world, 1);
    std::vector<std::uint64_t> own(3 * pieces);
    std::iota(own.begin(), own.end(), 7 * world.rank());
    const selion::rank_id to = test.neighbour();
    std::vector<selion::put_piece<std::uint64_t>> list;
    std::size_t at = 0;
    for (std::size_t i = 0; i < pieces; ++i) {
        const std::size_t count = i % 3;  // some are empty
        list.push_back({cells.at(to, at + i / 50), std::span(own).subspan(at, count)});
        at += count;
    }
    selion::counter done;
    selion::put_vector(list, {.target = arrived.at(to), .completion = &done});
    done.wait(1);
    arrived.mine()->wait(1);
    test.equal(cells.mine()[0], 7ull * test.neighbour_before());
    std::vector<std::uint64_t> back(3 * pieces);
    std::vector<selion::get_piece<std::uint64_t>> wanted;
    at = 0;
    for (std::size_t i = 0; i < pieces; ++i) {
        const std::size_t count = i % 3;
        wanted.push_back({std::span(back).subspan(at, count), cells.at(to, at + i / 50)});
        at += count;
    }
    selion::get_vector(wanted);
    test.that(std::equal(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(at), own.begin()),
              "all pieces come back");
    world.barrier();
}

/// More of them than travel together: each counter counts once, when all are here, or read.
SPMD_TEST(strided, a_list_that_is_got_counts_once) {
    constexpr std::size_t pieces = 150;
    spmd::symmetric_array<std::uint64_t> cells(world, 2 * pieces);
    spmd::symmetric_array<selion::counter> read(world, 1);
    std::iota(cells.mine(), cells.mine() + 2 * pieces, 1000u * world.rank());
    world.barrier();
    const selion::rank_id from = test.neighbour();
    for (std::uint32_t round = 0; round < test.rounds(20, 2); ++round) {
        std::vector<std::uint64_t> got(pieces);
        std::vector<selion::get_piece<std::uint64_t>> wanted;
        for (std::size_t i = 0; i < pieces; ++i) {
            wanted.push_back({std::span(got).subspan(i, 1), cells.at(from, 2 * i)});
        }
        selion::counter here;
        selion::counter complete;
        selion::get_vector(std::span<const selion::get_piece<std::uint64_t>>(wanted),
                           {.origin = &here, .target = read.at(from), .completion = &complete});
        here.wait(1);
        bool is_right = true;
        for (std::size_t i = 0; i < pieces; ++i) is_right &= got[i] == 1000u * from + 2 * i;
        test.that(is_right, "all pieces are here when the counter counts");
        complete.wait(1);
        read.mine()->wait(1);
        test.equal(here.value() + complete.value(), 0);
        world.barrier();
        test.equal(read.mine()->value(), 0);
        world.barrier();
    }
}

SPMD_TEST(strided, a_list_that_is_got_is_here_whatever_its_last_piece) {
    constexpr std::size_t words = 1000;
    spmd::symmetric_array<std::uint64_t> cells(world, words);
    std::iota(cells.mine(), cells.mine() + words, 5000u * world.rank());
    world.barrier();
    const selion::rank_id from = test.neighbour();
    std::vector<std::uint64_t> long_piece(words);
    std::vector<std::uint64_t> short_piece(1);
    const std::array<selion::get_piece<std::uint64_t>, 2> wanted{
        selion::get_piece<std::uint64_t>{std::span(long_piece), cells.at(from)},
        selion::get_piece<std::uint64_t>{std::span(short_piece), cells.at(from, 7)}};
    selion::get_vector(wanted);
    std::size_t missing = 0;
    for (std::size_t i = 0; i < words; ++i) missing += long_piece[i] != 5000u * from + i ? 1 : 0;
    test.equal(missing, 0u);
    test.equal(short_piece[0], 5000u * from + 7);
    world.barrier();
}

/// A mirrored face of a box, whose rows are one element, there and back.
template <class Element>
void move_a_face(spmd::test_run& test, selion::world& world) {
    constexpr std::size_t length = 5;
    const auto element = [](std::size_t number, std::uint32_t rank) {
        Element made{};
        std::memset(&made, static_cast<int>(number + 16 * rank + 1), sizeof made);
        return made;
    };
    const auto same = [](const Element& a, const Element& b) {
        return std::memcmp(&a, &b, sizeof a) == 0;
    };
    spmd::symmetric_array<Element> box(world, length * length * length);
    std::memset(static_cast<void*>(box.mine()), 0, length * length * length * sizeof(Element));
    world.barrier();
    std::vector<Element> own;
    for (std::size_t i = 0; i < 6; ++i) own.push_back(element(i, world.rank()));
    // Element (2 - i, 3 - j) of the face at x = 4 is own[2 * i + j].
    const std::array<selion::stride, 2> there{
        selion::stride{.count = 2, .target = -std::ptrdiff_t{length}, .source = 1},
        selion::stride{.count = 3, .target = -std::ptrdiff_t{length * length}, .source = 2}};
    const auto first = static_cast<std::ptrdiff_t>((2 * length + 3) * length + 4);
    const selion::rank_id to = test.neighbour();
    selion::counter done;
    selion::put_strided(box.at(to) + first, own.data(), 1, there, {.completion = &done});
    done.wait(1);
    world.barrier();
    std::size_t filled = 0;
    for (std::size_t i = 0; i < length * length * length; ++i) {
        filled += same(box.mine()[i], Element{}) ? 0 : 1;
    }
    test.equal(filled, std::size_t{6});
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 2; ++j) {
            test.that(same(box.mine()[((2 - i) * length + 3 - j) * length + 4],
                           element(2 * i + j, test.neighbour_before())),
                      "each element is in its place");
        }
    }
    const std::array<selion::stride, 2> back{
        selion::stride{.count = 2, .target = 1, .source = -std::ptrdiff_t{length}},
        selion::stride{.count = 3, .target = 2, .source = -std::ptrdiff_t{length * length}}};
    std::vector<Element> returned(6);
    selion::get_strided(returned.data(), box.at(to) + first, 1, back);
    test.that(std::ranges::equal(returned, own, same), "what was put comes back");
    world.barrier();
}

struct triple {
    std::uint64_t words[3];
};
struct pair_of_words {
    std::uint64_t words[2];
};

SPMD_TEST(strided, rows_of_one_element_of_any_size) {
    move_a_face<std::uint8_t>(test, world);
    move_a_face<std::uint16_t>(test, world);
    move_a_face<float>(test, world);
    move_a_face<double>(test, world);
    move_a_face<pair_of_words>(test, world);
    move_a_face<triple>(test, world);
}

SPMD_TEST(strided, a_list_of_no_pieces_counts) {
    spmd::symmetric_array<selion::counter> counted(world, 1);
    selion::counter done;
    const selion::rank_id peer = test.neighbour();
    const std::span<const selion::put_piece<int>> none_to_put;
    const std::span<const selion::get_piece<int>> none_to_get;
    selion::put_vector(none_to_put, {.origin = &done, .completion = &done});
    selion::get_vector(none_to_get, {.completion = &done});
    selion::get_vector(none_to_get);
    done.wait(3);
    selion::put_vector(none_to_put, {.target = counted.at(peer), .completion = &done});
    selion::get_vector(none_to_get, {.origin = &done, .target = counted.at(peer)});
    done.wait(2);
    test.that(counted.mine()->wait(2, std::chrono::seconds(20)),
              "they count at the rank of the target counter");
    test.equal(done.value(), 0);
    world.barrier();
}

SPMD_TEST(addresses, are_exchanged_and_looked_up) {
    const auto own = selion::allocate_local<double>(world, 3);
    *own.local() = 0.5 + world.rank();
    const auto all = selion::exchange_addresses(world, own);
    for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
        test.equal(selion::get(all[rank]), 0.5 + rank);
    }
    selion::address_directory<double> directory(world, 4);
    test.that(!directory.look_up(test.neighbour(), 2), "nothing is published yet");
    world.barrier();
    directory.publish(own, 2);
    world.barrier();
    test.that(directory.look_up(test.neighbour(), 2) == all[test.neighbour()], "now it is");
    world.barrier();
    directory.publish(nullptr, 2);
    world.barrier();
    test.that(!directory.look_up(test.neighbour(), 2), "and now it is not");
    test.that(selion::to_global(own.local()) == own, "a place knows its global address");
    const double elsewhere = 0;
    test.that(!selion::to_global(&elsewhere), "the stack is in no segment");
    world.barrier();
    selion::deallocate_local(world, own);
}

}  // namespace
