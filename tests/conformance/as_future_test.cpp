// SPDX-License-Identifier: Apache-2.0
/// One-sided operations whose result is a future.
#include <array>
#include <cstdint>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

using selion::as_future;

struct place {
    double x;
    float y;
    std::int16_t z;

    bool operator==(const place&) const = default;
};

SPMD_TEST(as_future, values_come_and_go) {
    spmd::symmetric_array<place> cells(world, 2);
    *cells.mine() = {1.5 + world.rank(), -2, 3};
    world.barrier();
    const auto there = cells.at(test.neighbour());
    auto came = selion::get(there, as_future).then([](place found) { return found.x; });
    test.equal(came.get(), 1.5 + test.neighbour());
    const place sent{0.25, 7, static_cast<std::int16_t>(world.rank())};
    auto arrived = selion::put(cells.at(test.neighbour(), 1), sent, as_future);
    arrived.wait();
    test.that(selion::get(cells.at(test.neighbour(), 1)) == sent, "it is there when it is ready");
    world.barrier();
    test.equal(cells.mine()[1].z, static_cast<std::int16_t>(test.neighbour_before()));
    const selion::global_ptr<const place> read_only = cells.own();
    test.that(selion::get(read_only, as_future).get() == *cells.mine(), "one's own");
    world.barrier();
}

SPMD_TEST(as_future, spans_of_every_length_arrive) {
    constexpr std::size_t most = 3000;
    spmd::symmetric_array<std::int32_t> cells(world, most + 1);
    for (const std::size_t count : {0, 1, 7, 20, 1000, 3000}) {
        std::vector<std::int32_t> sent(count);
        for (std::size_t i = 0; i < count; ++i) {
            sent[i] = static_cast<std::int32_t>(i * 3 + count + world.rank());
        }
        auto arrived =
            selion::put(cells.at(test.neighbour()), std::span<const std::int32_t>(sent), as_future);
        std::ranges::fill(sent, -1);  // it has been copied
        arrived.wait();
        world.barrier();
        for (std::size_t i = 0; i < count; ++i) {
            test.equal(cells.mine()[i],
                       static_cast<std::int32_t>(i * 3 + count + test.neighbour_before()));
        }
        test.equal(cells.mine()[most], 0);
        world.barrier();
    }
}

SPMD_TEST(as_future, spans_of_every_length_are_read) {
    constexpr std::size_t most = 3000;
    spmd::symmetric_array<std::int32_t> cells(world, most);
    for (std::size_t i = 0; i < most; ++i) {
        cells.mine()[i] = static_cast<std::int32_t>(i * 3 + world.rank());
    }
    world.barrier();
    const selion::global_ptr<const std::int32_t> there = cells.at(test.neighbour());
    for (const std::size_t count : {0, 1, 7, 20, 1000, 2998}) {
        std::vector<std::int32_t> came(count + 2, -1);
        selion::get(std::span(came).subspan(1, count), there + 2, as_future).get();
        test.that(came.front() == -1 && came.back() == -1, "nothing beside them");
        for (std::size_t i = 0; i < count; ++i) {
            test.equal(came[i + 1], static_cast<std::int32_t>((i + 2) * 3 + test.neighbour()));
        }
    }
    world.barrier();
}

SPMD_TEST(as_future, atomics_fetch_what_was_before) {
    spmd::symmetric_array<std::uint64_t> words(world, 1);
    spmd::symmetric_array<double> reals(world, 1);
    const auto there = words.at(test.neighbour());
    test.equal(selion::fetch_add(there, 5u, as_future).get(), 0u);
    test.equal(selion::fetch_or(there, 8u, as_future).get(), 5u);
    test.equal(selion::fetch_and(there, 12u, as_future).get(), 13u);
    test.equal(selion::fetch_xor(there, 6u, as_future).get(), 12u);
    test.equal(selion::fetch_min(there, 9u, as_future).get(), 10u);
    test.equal(selion::fetch_max(there, 20u, as_future).get(), 9u);
    test.equal(selion::compare_swap(there, 19u, 1u, as_future).get(), 20u);
    test.equal(selion::compare_swap(there, 20u, 2u, as_future).get(), 20u);
    test.equal(selion::swap(there, 3u, as_future).get(), 2u);
    test.equal(selion::atomic_get(there, as_future).get(), 3u);
    test.equal(selion::fetch_add(reals.at(test.neighbour()), 0.5, as_future).get(), 0.0);
    world.barrier();
    test.equal(*reals.mine(), 0.5);
    world.barrier();
    // All ranks at one word, beside those that need no future.
    constexpr std::uint64_t rounds = 50;
    std::uint64_t greatest = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        auto before = selion::fetch_add(words.at(0), 1u, as_future);
        selion::atomic_add(words.at(0), std::uint64_t{1});
        greatest = std::max(greatest, before.get());
    }
    world.barrier();
    test.equal(selion::atomic_get(words.at(0)), 3 + 2 * rounds * world.size());
    test.that(greatest < 3 + 2 * rounds * world.size(), "values before, not after");
    world.barrier();
}

SPMD_TEST(as_future, many_are_gathered) {
    spmd::symmetric_array<int> cells(world, 3);
    const auto there = cells.at(test.neighbour());
    auto all =
        selion::when_all(selion::put(there, 1, as_future), selion::put(there + 1, 2, as_future),
                         selion::fetch_add(there + 2, 3, as_future))
            .then([there](int) { return selion::get(there + 2, as_future); });
    test.equal(all.get(), 3);
    world.barrier();
    test.equal(cells.mine()[0] + cells.mine()[1], 3);
    world.barrier();
}

}  // namespace
