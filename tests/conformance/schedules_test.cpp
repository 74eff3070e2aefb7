// SPDX-License-Identifier: Apache-2.0
/// Every collective by every algorithm that its schedules exist for, through shared memory and by
/// messages.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

using enum selion::collective_kind;
/// Sizes count bytes; sums wrap, so they are exact in any order.
using small_word = std::uint8_t;

small_word block_element(std::uint32_t from, std::uint32_t to, std::size_t index) {
    const std::uint64_t mixed =
        (from * 1'000'003ull + to * 7919ull + index + 1) * 0x9e3779b97f4a7c15ull;
    return static_cast<small_word>(mixed >> 56);
}

/// What goes from `from` to `to`, `count` elements.
void put_block(std::vector<small_word>& all, std::uint32_t from, std::uint32_t to,
               std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) all.push_back(block_element(from, to, i));
}

void put_sum(std::vector<small_word>& all, std::uint32_t end, std::uint32_t to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        small_word sum = 0;
        for (std::uint32_t from = 0; from < end; ++from) {
            sum = static_cast<small_word>(sum + block_element(from, to, i));
        }
        all.push_back(sum);
    }
}

/// One collective, as one rank sees it.
struct trial {
    selion::schedule_request how;
    selion::collective_way way;
    std::uint32_t rank;
    std::size_t count;
    std::uint32_t part_bytes = 0;

    bool is_root() const { return rank == how.root; }

    std::vector<small_word> given() const {
        std::vector<small_word> all;
        const bool has_all = how.collective == exchange || how.collective == reduce_scatter ||
                             (how.collective == scatter && is_root());
        if (has_all) {
            for (std::uint32_t to = 0; to < how.ranks; ++to) put_block(all, rank, to, count);
        } else if (how.collective != scatter && how.collective != barrier) {
            put_block(all, rank, 0, count);
        }
        return all;
    }

    std::vector<small_word> expected() const {
        std::vector<small_word> all;
        switch (how.collective) {
            case barrier: break;
            case broadcast: put_block(all, how.root, 0, count); break;
            case reduce:
                if (is_root()) put_sum(all, how.ranks, 0, count);
                break;
            case all_reduce: put_sum(all, how.ranks, 0, count); break;
            case reduce_scatter: put_sum(all, how.ranks, rank, count); break;
            case scan: put_sum(all, rank + 1, 0, count); break;
            case exscan: put_sum(all, rank, 0, count); break;
            case gather:
                if (!is_root()) break;
                [[fallthrough]];
            case all_gather:
                for (std::uint32_t from = 0; from < how.ranks; ++from) {
                    put_block(all, from, 0, count);
                }
                break;
            case scatter: put_block(all, how.root, rank, count); break;
            case exchange:
                for (std::uint32_t from = 0; from < how.ranks; ++from) {
                    put_block(all, from, rank, count);
                }
        }
        return all;
    }
};

bool combines(selion::collective_kind what) {
    return what == reduce || what == all_reduce || what == reduce_scatter || what == scan ||
           what == exscan;
}

/// What a rank gives and should get, made once for each root of one collective and size.
class known_data {
public:
    struct pair {
        std::vector<small_word> given, expected;
    };
    const pair& of(const trial& one) {
        const auto [place, is_new] = all_.try_emplace(one.how.root);
        if (is_new) place->second = {one.given(), one.expected()};
        return place->second;
    }

private:
    std::map<std::uint32_t, pair> all_;
};

void run(spmd::test_run& test, const trial& one, known_data& known) {
    const auto& [source, expected] = known.of(one);
    std::vector<small_word> target(expected.size());
    if (one.how.collective == broadcast && one.is_root()) target = source;
    const selion::detail::reduction how = selion::detail::erase_reduction<small_word>(selion::plus);
    const selion::collective_choice chosen{one.way, one.how, one.part_bytes};
    selion::detail::block_call call{
        .what = one.how.collective,
        .source = reinterpret_cast<const std::byte*>(source.data()),
        .target = expected.empty() ? nullptr : reinterpret_cast<std::byte*>(target.data()),
        .count = one.how.collective == barrier ? 0 : one.count,
        .element_bytes = sizeof(small_word),
        .how = combines(one.how.collective) ? &how : nullptr,
        .root = one.how.root,
        .chosen = &chosen};
    if (one.how.collective == scatter && !one.is_root()) call.source = nullptr;
    selion::detail::run_block_call(selion::detail::everybody(*selion::detail::current_context),
                                   call, std::source_location::current());
    test.that(target == expected,
              fmt::format("{} of {} elements by {} from {}, radix {}, {} segments, by {}",
                          selion::name_of(one.how.collective), one.count,
                          selion::name_of(one.how.algorithm), one.how.root, one.how.radix,
                          one.how.segments, selion::name_of(one.way)));
}

std::set<std::uint32_t> radixes_of(selion::schedule_algorithm algorithm, std::uint32_t ranks) {
    if (!selion::uses_radix(algorithm) || ranks <= 2) return {2};
    return {2, 3, ranks};
}

std::vector<selion::schedule_request> requests_for(selion::collective_kind what,
                                                   std::uint32_t ranks) {
    std::vector<selion::schedule_request> all;
    const std::set<std::uint32_t> roots =
        selion::has_root(what) ? std::set{0u, ranks - 1} : std::set{0u};
    for (const auto algorithm : selion::algorithms_for(what)) {
        for (const std::uint32_t radix : radixes_of(algorithm, ranks)) {
            for (const std::uint32_t root : roots) {
                all.push_back({what, algorithm, ranks, root, radix, 3});
                if (radix != 2 || !selion::uses_segments(what, algorithm)) continue;
                all.push_back({what, algorithm, ranks, root, radix, 3, 5});
            }
        }
    }
    return all;
}

/// The product of everything takes an hour over all machines: scripts/ci/all-collectives.
bool is_full() { return std::getenv("SELION_TEST_FULL") != nullptr; }

/// Longer than any buffer, and no multiple of one. Where each access is looked at, less will do.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t long_bytes = (1 << 16) + 3;
#else
constexpr std::size_t long_bytes = (1 << 20) + 3;
#endif

/// Bytes of a block: none, one, odd, a word, a page, and more than any buffer that divides evenly.
/// Between processes schedules over lines need room in the heap for what a step sends.
std::vector<std::size_t> sizes_for(selion::collective_kind what, const selion::world& world) {
    const std::uint32_t ranks = world.size();
    const bool has_room = world.heap().reserved_bytes >= 64 * 1024 * 1024;
    if (what == barrier) return {0};
    const bool is_for_each = what == exchange || what == all_gather;
    std::vector<std::size_t> all{0, 1, 7, 8};
    const bool is_large = ranks > 16;
    if (!is_large || (is_full() && !is_for_each)) all.push_back(4096);
    // Each rank has such a block for each: 64 of them would want 13 GiB.
    const bool is_for_most = is_for_each || (ranks > 31 && what == reduce_scatter);
    const bool takes_long = ranks <= 4 || (is_full() && !is_for_most);
    if (takes_long && has_room) all.push_back(long_bytes);
    return all;
}

/// Of long blocks a sample: one radix and one root for each algorithm.
bool is_tried(const selion::schedule_request& how, std::size_t bytes) {
    const bool is_first = how.root == 0 && how.radix == 2;
    return bytes <= 4096 || is_full() || is_first;
}

void run_all(spmd::test_run& test, selion::world& world, selion::collective_kind what) {
    using enum selion::collective_way;
    for (const std::size_t bytes : sizes_for(what, world)) {
        known_data known;
        for (const selion::schedule_request& how : requests_for(what, world.size())) {
            if (!is_tried(how, bytes)) continue;
            for (const auto way : {lines, messages}) {
                run(test, {how, way, world.rank(), bytes}, known);
            }
        }
        const std::uint32_t root = selion::has_root(what) ? world.size() / 2 : 0;
        const selion::schedule_request how{.collective = what, .ranks = world.size(), .root = root};
        for (const auto way : {board, slots, direct, nodes})
            run(test, {how, way, world.rank(), bytes}, known);
        const std::uint32_t short_part = bytes > 10'000 ? 5000 : 100;
        run(test, {how, slots, world.rank(), bytes, short_part}, known);
    }
}

SPMD_TEST(schedules, barrier) { run_all(test, world, barrier); }
SPMD_TEST(schedules, broadcast) { run_all(test, world, broadcast); }
SPMD_TEST(schedules, reduce) { run_all(test, world, reduce); }
SPMD_TEST(schedules, all_reduce) { run_all(test, world, all_reduce); }
SPMD_TEST(schedules, reduce_scatter) { run_all(test, world, reduce_scatter); }
SPMD_TEST(schedules, scan) { run_all(test, world, scan); }
SPMD_TEST(schedules, exscan) { run_all(test, world, exscan); }
SPMD_TEST(schedules, gather) { run_all(test, world, gather); }
SPMD_TEST(schedules, all_gather) { run_all(test, world, all_gather); }
SPMD_TEST(schedules, scatter) { run_all(test, world, scatter); }
SPMD_TEST(schedules, exchange) { run_all(test, world, exchange); }

}  // namespace
