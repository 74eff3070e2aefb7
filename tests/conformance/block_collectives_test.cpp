// SPDX-License-Identifier: Apache-2.0
/// Collectives that move and combine blocks: values, spans, in place, from every root.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <numeric>
#include <string>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

using word = std::uint64_t;

/// Element `index` of what `from` gives to `to`.
word element(std::uint32_t from, std::uint32_t to, std::size_t index) {
    return (from * 1'000'003ull + to * 7919ull + index + 1) * 0x9e3779b97f4a7c15ull;
}

std::vector<word> block(std::uint32_t from, std::uint32_t to, std::size_t count) {
    std::vector<word> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = element(from, to, i);
    return all;
}

std::vector<word> blocks(std::uint32_t members, auto block_of) {
    std::vector<word> all;
    for (std::uint32_t member = 0; member < members; ++member) {
        const std::vector<word> one = block_of(member);
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

/// Associative, and as far from commutative as can be: what is combined keeps its order.
struct path {
    std::uint64_t turn = 0;
    std::uint64_t length = 0;
    bool operator==(const path&) const = default;
};
path join(const path& a, const path& b) {
    return {std::rotl(a.turn, static_cast<int>(b.length % 64)) ^ b.turn, a.length + b.length};
}
path path_of(std::uint32_t rank, std::size_t index = 0) {
    return {element(rank, 1, index), rank + index % 5 + 1};
}
path path_to(std::uint32_t end, std::size_t index = 0) {
    path all = path_of(0, index);
    for (std::uint32_t rank = 1; rank < end; ++rank) all = join(all, path_of(rank, index));
    return all;
}

/// Elements of a block: none, one, an odd number, more than a slot holds for all.
std::vector<std::size_t> counts_for(const selion::world& world) {
    if (world.size() > 8) return {0, 1, 7, 100};
    return {0, 1, 7, 4096 / sizeof(word), 5000, 20'001};
}

/// The first, the last, and some between.
bool is_tried(std::uint32_t root, std::uint32_t size) {
    return root < 3 || root + 1 == size || root == 37;
}

SPMD_TEST(block_collectives, values) {
    const std::uint32_t size = world.size();
    const auto rank = static_cast<std::uint32_t>(world.rank());
    for (std::uint32_t root = 0; root < size; ++root) {
        if (!is_tried(root, size)) continue;
        const auto sum = world.reduce(rank + 1, selion::plus, root);
        test.equal(sum.has_value(), rank == root);
        if (sum) test.equal(*sum, size * (size + 1) / 2);
        const auto all = world.gather(static_cast<char>('a' + rank % 26), root);
        test.equal(all.size(), rank == root ? size : 0u);
        if (rank == root) test.equal(all.back(), static_cast<char>('a' + (size - 1) % 26));
    }
    std::vector<std::uint32_t> ranks(size);
    std::iota(ranks.begin(), ranks.end(), 0u);
    test.that(world.all_gather(rank) == ranks, "all_gather keeps the order of the members");
    const std::vector<bool> odd = world.all_gather(rank % 2 == 1);
    for (std::uint32_t other = 0; other < size; ++other) test.equal(odd[other], other % 2 == 1);
    test.equal(world.scan(rank + 1, selion::plus), (rank + 1) * (rank + 2) / 2);
    test.equal(world.exscan(rank + 1, selion::plus, 7u), rank == 0 ? 7 : rank * (rank + 1) / 2);
}

SPMD_TEST(block_collectives, operations_that_do_not_commute) {
    const std::uint32_t size = world.size();
    const auto rank = static_cast<std::uint32_t>(world.rank());
    for (std::uint32_t root = 0; root < size; ++root) {
        if (!is_tried(root, size)) continue;
        const auto whole = world.reduce(path_of(rank), join, root);
        if (whole) test.that(*whole == path_to(size), "reduce combines in the order of the ranks");
    }
    test.that(world.scan(path_of(rank), join) == path_to(rank + 1), "scan keeps the order");
    const path before = world.exscan(path_of(rank), join, path{});
    test.that(before == (rank == 0 ? path{} : path_to(rank)), "exscan keeps the order");
}

/// Floating-point sums show the association: it is the same on every machine.
SPMD_TEST(block_collectives, sums_have_one_association) {
    const std::uint32_t size = world.size();
    const auto rank = static_cast<std::uint32_t>(world.rank());
    const auto value = [](std::uint32_t of) { return 1.0 / (3.0 + of) + of * 1e-9; };
    const auto group = [&](auto self, std::uint32_t first, std::uint32_t ranks) -> double {
        if (ranks == 1) return value(first);
        const std::uint32_t left = std::bit_floor(ranks - 1);
        return self(self, first, left) + self(self, first + left, ranks - left);
    };
    const double all = world.all_reduce(value(rank), selion::plus);
    test.equal(all, group(group, 0, size));
    const auto reduced = world.reduce(value(rank), selion::plus, size - 1);
    if (reduced) test.equal(*reduced, all);
    double prefix = 0.0;
    for (std::uint32_t done = 0; done <= rank;) {
        const std::uint32_t next = std::bit_floor(rank + 1 - done);
        const double part = group(group, done, next);
        prefix = done == 0 ? part : prefix + part;
        done += next;
    }
    test.equal(world.scan(value(rank), selion::plus), prefix);
    std::vector<double> given(size, value(rank));
    double own = 0.0;
    world.reduce_scatter(std::span(given), std::span(&own, 1), selion::plus);
    test.equal(own, all);
}

SPMD_TEST(block_collectives, spans_are_combined) {
    const std::uint32_t size = world.size();
    const auto rank = static_cast<std::uint32_t>(world.rank());
    for (const std::size_t count : counts_for(world)) {
        std::vector<path> own(count);
        for (std::size_t i = 0; i < count; ++i) own[i] = path_of(rank, i);
        const auto is_path_to = [&](const std::vector<path>& found, std::uint32_t end) {
            for (std::size_t i = 0; i < count; i += 1 + count / 50) {
                if (found[i] != path_to(end, i)) return false;
            }
            return true;
        };
        const std::uint32_t root = size / 2;
        std::vector<path> data = own;
        world.reduce(std::span(data), join, root);
        test.that(rank == root ? is_path_to(data, size) : data == own, "reduce of a span");
        data = own;
        world.scan(std::span(data), join);
        test.that(is_path_to(data, rank + 1), "scan of a span");
        data = own;
        world.exscan(std::span(data), join, path{});
        test.that(rank == 0 ? data == std::vector<path>(count) : is_path_to(data, rank),
                  "exscan of a span");
    }
}

SPMD_TEST(block_collectives, spans_are_combined_and_scattered) {
    const auto rank = static_cast<std::uint32_t>(world.rank());
    for (const std::size_t count : counts_for(world)) {
        const auto given =
            blocks(world.size(), [&](std::uint32_t to) { return block(rank, to, count); });
        std::vector<word> expected(count);
        for (std::uint32_t from = 0; from < world.size(); ++from) {
            for (std::size_t i = 0; i < count; ++i) expected[i] += element(from, rank, i);
        }
        std::vector<word> own(count);
        world.reduce_scatter(std::span(given), std::span(own), selion::plus);
        test.that(own == expected, fmt::format("reduce_scatter of {}", count));
        std::vector<word> same = given;  // in place
        world.reduce_scatter(std::span(same), std::span(same).subspan(rank * count, count),
                             selion::plus);
        test.that(std::equal(expected.begin(), expected.end(), same.begin() + rank * count),
                  "reduce_scatter in place");
    }
}

SPMD_TEST(block_collectives, spans_are_gathered_and_scattered) {
    const std::uint32_t size = world.size();
    const auto rank = static_cast<std::uint32_t>(world.rank());
    for (const std::size_t count : counts_for(world)) {
        const std::vector<word> own = block(rank, 0, count);
        const auto everybody =
            blocks(size, [&](std::uint32_t from) { return block(from, 0, count); });
        std::vector<word> all(size * count);
        world.all_gather(std::span(own), std::span(all));
        test.that(all == everybody, fmt::format("all_gather of {}", count));
        std::ranges::fill(all, 0);
        const std::span<word> mine = std::span(all).subspan(rank * count, count);
        std::ranges::copy(own, mine.begin());
        world.all_gather(mine, std::span(all));
        test.that(all == everybody, "all_gather in place");
        for (std::uint32_t root = 0; root < size; ++root) {
            if (!is_tried(root, size) || (count > 1000 && root != 1 % size)) continue;
            std::ranges::fill(all, 0);
            world.gather(std::span(own), rank == root ? std::span(all) : std::span<word>(), root);
            test.that(rank != root || all == everybody, fmt::format("gather of {}", count));
            std::vector<word> part(count);
            world.scatter(rank == root ? std::span(everybody) : std::span<const word>(),
                          std::span(part), root);
            test.that(part == own, fmt::format("scatter of {}", count));
        }
    }
}

SPMD_TEST(block_collectives, spans_are_exchanged) {
    const auto rank = static_cast<std::uint32_t>(world.rank());
    for (const std::size_t count : counts_for(world)) {
        const auto given =
            blocks(world.size(), [&](std::uint32_t to) { return block(rank, to, count); });
        const auto expected =
            blocks(world.size(), [&](std::uint32_t from) { return block(from, rank, count); });
        std::vector<word> got(given.size());
        world.exchange(std::span(given), std::span(got));
        test.that(got == expected, fmt::format("exchange of {}", count));
        std::vector<word> same = given;
        world.exchange(std::span(same), std::span(same));
        test.that(same == expected, fmt::format("exchange of {} in place", count));
    }
}

/// Lengths from none to more than a slot holds, and about what travels with them; some ranks have
/// nothing.
std::size_t length(std::uint32_t from, std::uint32_t to, std::size_t unit) {
    return (from * 3 + to * 5) % 4 * unit;
}

void run_varying(spmd::test_run& test, selion::world& world, std::size_t unit) {
    const std::uint32_t size = world.size();
    const auto rank = static_cast<std::uint32_t>(world.rank());
    const auto own = block(rank, 0, length(rank, 0, unit));
    const auto is_right = [&](const selion::varying_blocks<word>& found, auto to) {
        for (std::uint32_t from = 0; from < size; ++from) {
            if (!std::ranges::equal(found.of(from), block(from, to, length(from, to, unit)))) {
                return false;
            }
        }
        return true;
    };
    test.that(is_right(world.all_gatherv(std::span(own)), 0u), "all_gatherv");
    const std::uint32_t root = size - 1;
    const auto gathered = world.gatherv(std::span(own), root);
    test.that(rank == root ? is_right(gathered, 0u) : gathered.of(0).empty(), "gatherv");
    std::vector<std::size_t> counts(size);
    for (std::uint32_t to = 0; to < size; ++to) counts[to] = length(rank, to, unit);
    const auto given =
        blocks(size, [&](std::uint32_t to) { return block(rank, to, length(rank, to, unit)); });
    test.that(is_right(world.exchangev(std::span(given), std::span(counts)), rank), "exchangev");
    const bool gives = rank == root;
    const auto part = world.scatterv(gives ? std::span(given) : std::span<const word>(),
                                     gives ? std::span(counts) : std::span<std::size_t>(), root);
    test.that(part == block(root, rank, length(root, rank, unit)), "scatterv");
}

SPMD_TEST(block_collectives, blocks_that_differ_in_length) {
    for (const std::size_t unit : {0, 1, 2, 3, 50}) run_varying(test, world, unit);
    if (world.size() <= 8) run_varying(test, world, 3000);
}

/// Larger than a slot, and than a rank's share of one.
struct boulder {
    std::array<std::uint32_t, 10'001> words;
    bool operator==(const boulder&) const = default;
};

SPMD_TEST(block_collectives, large_elements) {
    const auto made = [](std::uint32_t from, std::uint32_t to) {
        boulder one{};
        for (std::uint32_t i = 0; i < one.words.size(); ++i) one.words[i] = from * 77 + to * 5 + i;
        return one;
    };
    const std::uint32_t size = world.size();
    if (size > 9) return;
    const auto rank = static_cast<std::uint32_t>(world.rank());
    std::vector<boulder> given;
    std::vector<boulder> expected;
    for (std::uint32_t other = 0; other < size; ++other) {
        given.push_back(made(rank, other));
        expected.push_back(made(other, rank));
    }
    std::vector<boulder> got(size);
    world.exchange(std::span(given), std::span(got));
    test.that(got == expected, "exchange of large elements");
    boulder mine{};
    world.scatter(std::span(given), std::span(&mine, 1), 0);
    test.that(mine == made(0, rank), "scatter of large elements");
    const std::vector<boulder> all = world.gather(made(rank, 3), size - 1);
    if (rank == size - 1) test.that(all.front() == made(0, 3), "gather of large elements");
}

/// Too many, or too large, for a share of a slot each.
SPMD_TEST(block_collectives, large_elements_are_combined) {
    const std::uint32_t size = world.size();
    if (size > 9) return;
    const auto rank = static_cast<std::uint32_t>(world.rank());
    std::vector<boulder> given(size);
    for (boulder& one : given) one.words.fill(rank + 1);
    const auto add = [](const boulder& a, const boulder& b) {
        boulder sum = a;
        for (std::size_t i = 0; i < sum.words.size(); ++i) sum.words[i] += b.words[i];
        return sum;
    };
    boulder own{};
    world.reduce_scatter(std::span(given), std::span(&own, 1), add);
    test.equal(own.words.back(), size * (size + 1) / 2);
    world.scan(std::span(given).first(1), add);
    test.equal(given.front().words.back(), (rank + 1) * (rank + 2) / 2);
}

/// Fast ranks are ahead of slow ones, in many calls of all kinds.
SPMD_TEST(block_collectives, many_in_a_row) {
    const std::uint32_t size = world.size();
    const auto rank = static_cast<std::uint32_t>(world.rank());
    for (std::uint32_t turn = 0; turn < 60; ++turn) {
        const std::uint32_t root = turn % size;
        const std::vector<std::uint32_t> all = world.gather(rank + turn, root);
        if (rank == root) test.equal(all[turn % size], turn % size + turn);
        std::uint32_t part = 0;
        world.scatter(std::span(all), std::span(&part, 1), root);
        test.equal(part, rank + turn);
        const auto sum = world.reduce(turn, selion::plus, root);
        if (sum) test.equal(*sum, turn * size);
        test.equal(world.broadcast(rank + turn, root), root + turn);
    }
}

}  // namespace
