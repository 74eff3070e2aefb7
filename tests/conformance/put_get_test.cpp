// SPDX-License-Identifier: Apache-2.0
/// Values and spans of every size, to and from every rank, with canaries round each target.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

/// A value of any size that may lie at any address.
template <std::size_t Bytes>
struct loose {
    std::array<std::byte, Bytes> content;
};

template <std::size_t Bytes>
loose<Bytes> loose_from(std::uint32_t sender) {
    loose<Bytes> value;
    std::ranges::copy(spmd::message(sender, Bytes), value.content.begin());
    return value;
}

/// With how many places of distance each rank tries its partner: all where that is quick.
std::vector<std::uint32_t> distances(const selion::world& world, std::size_t bytes) {
    const std::uint32_t ranks = world.size();
    std::vector<std::uint32_t> all;
    const bool is_quick = ranks <= 8 || bytes <= 128;
    for (std::uint32_t d = 0; d < ranks; ++d) {
        if (is_quick || d < 2 || d == ranks / 2 || d + 1 == ranks) all.push_back(d);
    }
    return all;
}

template <std::size_t Bytes>
void exchange_values(spmd::test_run& test, selion::world& world) {
    spmd::guarded_range range(world, Bytes + 8);
    for (const std::uint32_t distance : distances(world, Bytes)) {
        const std::size_t offset = distance % 8;
        const std::uint32_t writer = test.neighbour_before(distance);
        range.clear();
        world.barrier();
        const auto there =
            range.on(test.neighbour(distance), offset).template reinterpret<loose<Bytes>>();
        selion::put(there, loose_from<Bytes>(world.rank()));
        world.barrier();
        range.check(test, spmd::message(writer, Bytes), offset);
        const auto own = range.on(writer, offset).template reinterpret<loose<Bytes>>();
        const loose<Bytes> back = selion::get(own);
        test.that(back.content == loose_from<Bytes>(test.neighbour_before(2 * distance)).content,
                  "get returns what lies at the partner");
        world.barrier();
    }
}

SPMD_TEST(put_get, values_of_1_byte) { exchange_values<1>(test, world); }
SPMD_TEST(put_get, values_of_2_bytes) { exchange_values<2>(test, world); }
SPMD_TEST(put_get, values_of_4_bytes) { exchange_values<4>(test, world); }
SPMD_TEST(put_get, values_of_8_bytes) { exchange_values<8>(test, world); }
SPMD_TEST(put_get, values_of_16_bytes) { exchange_values<16>(test, world); }
SPMD_TEST(put_get, values_of_24_bytes) { exchange_values<24>(test, world); }
SPMD_TEST(put_get, values_of_100_bytes) { exchange_values<100>(test, world); }

/// Every rank writes a value of type T into its place at every rank, and reads all back.
template <class T>
void all_to_all(spmd::test_run& test, selion::world& world, T (*value)(std::uint32_t)) {
    spmd::symmetric_array<T> cells(world, world.size() + 2);
    for (std::uint32_t i = 0; i < world.size() + 2; ++i) cells.mine()[i] = value(9999);
    world.barrier();
    for (std::uint32_t d = 0; d < world.size(); ++d) {
        selion::put(cells.at(test.neighbour(d), world.rank() + 1), value(world.rank()));
    }
    world.barrier();
    test.same_bits(cells.mine()[0], value(9999));
    test.same_bits(cells.mine()[world.size() + 1], value(9999));
    for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
        test.same_bits(cells.mine()[rank + 1], value(rank));
        test.same_bits(selion::get(cells.at(rank, test.neighbour() + 1)), value(test.neighbour()));
    }
}

struct particle {
    double position[3];
    std::uint64_t name;
};

SPMD_TEST(put_get, typed_values_to_everybody) {
    all_to_all<std::uint8_t>(test, world,
                             [](std::uint32_t r) { return static_cast<std::uint8_t>(r + 1); });
    all_to_all<std::int16_t>(
        test, world, [](std::uint32_t r) { return static_cast<std::int16_t>(-31 * int(r)); });
    all_to_all<float>(test, world, [](std::uint32_t r) { return 1.0f / (1.0f + float(r)); });
    all_to_all<double>(test, world, [](std::uint32_t r) { return -1.0 / (3.0 + r); });
    all_to_all<std::uint64_t>(test, world,
                              [](std::uint32_t r) { return std::uint64_t{r + 1} << 32 | ~r; });
    all_to_all<particle>(test, world, [](std::uint32_t r) {
        return particle{{1.5 * r, -2.5 * r, 1e300}, ~std::uint64_t{r}};
    });
}

constexpr std::size_t big = (std::size_t{1} << 20) + 3;
constexpr std::array<std::size_t, 6> span_sizes{0, 1, 7, 8, 4096, big};
constexpr std::array<std::size_t, 4> span_offsets{0, 1, 5, 13};

SPMD_TEST(put_get, spans_are_put) {
    for (std::size_t i = 0; i < span_sizes.size(); ++i) {
        const std::size_t bytes = span_sizes[i];
        spmd::guarded_range range(world, bytes + 16);
        const std::vector<std::byte> own = spmd::message(world.rank(), bytes);
        for (const std::uint32_t distance : distances(world, bytes)) {
            const std::size_t offset = span_offsets[(distance + i) % span_offsets.size()];
            range.clear();
            world.barrier();
            selion::put(range.on(test.neighbour(distance), offset), own);
            world.barrier();
            range.check(test, spmd::message(test.neighbour_before(distance), bytes), offset);
            world.barrier();
        }
    }
}

SPMD_TEST(put_get, spans_are_got) {
    for (std::size_t i = 0; i < span_sizes.size(); ++i) {
        const std::size_t bytes = span_sizes[i];
        const std::size_t offset = span_offsets[(i + 1) % span_offsets.size()];
        spmd::guarded_range range(world, bytes + 16);
        range.fill(spmd::message(world.rank(), bytes), offset);
        world.barrier();
        for (const std::uint32_t distance : distances(world, bytes)) {
            const std::size_t shift = 1 + distance % 7;  // the target is unaligned, too
            // Not the canary of the source: a byte too many must not look like one untouched.
            constexpr std::byte blank{0x3c};
            std::vector<std::byte> into(bytes + 64, blank);
            selion::get(std::span(into).subspan(shift, bytes),
                        range.on(test.neighbour(distance), offset));
            const std::span<const std::byte> all(into);
            test.that(std::ranges::equal(all.subspan(shift, bytes),
                                         spmd::message(test.neighbour(distance), bytes)),
                      "get fills the span with what lies there");
            test.that(spmd::is_untouched(all.first(shift), blank) &&
                          spmd::is_untouched(all.subspan(shift + bytes), blank),
                      "get leaves the bytes round the span alone");
        }
        world.barrier();
        range.check(test, spmd::message(world.rank(), bytes), offset);
    }
}

SPMD_TEST(put_get, spans_of_elements) {
    constexpr std::size_t count = 1000;
    spmd::symmetric_array<particle> cells(world, count);
    std::vector<particle> own(count);
    for (std::size_t i = 0; i < count; ++i) {
        own[i] = {{double(i), double(world.rank()), 0.5}, i * 7 + world.rank()};
    }
    selion::put(cells.at(test.neighbour()), own);
    world.barrier();
    std::vector<particle> back(count - 10);
    selion::get(std::span(back), cells.at(test.neighbour(), 10));
    test.that(std::memcmp(back.data(), own.data() + 10, sizeof(particle) * back.size()) == 0,
              "a part of a span comes back");
    test.equal(cells.mine()[count - 1].name, (count - 1) * 7 + test.neighbour_before());
}

SPMD_TEST(put_get, source_may_be_reused_at_once) {
    constexpr std::uint32_t count = 64;
    spmd::symmetric_array<std::uint64_t> cells(world, count);
    std::uint64_t value = 0;
    std::array<std::uint64_t, 1> source{};
    for (std::uint32_t i = 0; i < count; ++i) {
        if (i % 2 == 0) {
            value = i + world.rank();
            selion::put(cells.at(test.neighbour(), i), value);
            value = ~std::uint64_t{0};
        } else {
            source[0] = i + world.rank();
            selion::put(cells.at(test.neighbour(), i), std::span<const std::uint64_t>(source));
            source[0] = ~std::uint64_t{0};
        }
    }
    world.barrier();
    for (std::uint32_t i = 0; i < count; ++i) {
        test.equal(cells.mine()[i], std::uint64_t{i} + test.neighbour_before());
    }
}

SPMD_TEST(put_get, a_rank_reads_its_own_puts) {
    spmd::symmetric_array<std::uint32_t> cells(world, world.size());
    for (std::uint32_t round = 1; round <= test.rounds(20000); ++round) {
        const auto mine = cells.at(test.neighbour(round), world.rank());
        selion::put(mine, round);
        test.equal(selion::get(mine), round);
    }
}

/// Answers of several lengths: those that leave together must not tell of one that follows them.
/// Ranks that look at the network now and then find several requests at once.
SPMD_TEST(put_get, after_quiet_all_gets_that_were_started_are_here) {
    constexpr std::size_t few = 4;
    constexpr std::size_t many = 600;
    spmd::symmetric_array<std::uint64_t> shown(world, many);
    spmd::symmetric_array<selion::signal> over(world, 1);
    std::fill_n(shown.mine(), many, 7u);
    world.barrier();
    const bool has_real_time = world.machine().capabilities.real_time;
    std::uint64_t missing = 0;
    for (std::uint32_t round = 0; world.rank() == 0 && round < test.rounds(200, 3); ++round) {
        std::vector<std::uint64_t> small(3 * few);
        std::vector<std::uint64_t> large(many);
        selion::counter here;
        const selion::rank_id from = world.size() - 1;
        for (std::size_t i = 0; i < 3; ++i) {
            selion::get(std::span(small).subspan(i * few, few), shown.at(from), here);
            selion::progress();
        }
        selion::get(std::span(large), shown.at(from), here);
        selion::quiet();
        missing += static_cast<std::uint64_t>(std::ranges::count(large, 0u)) +
                   static_cast<std::uint64_t>(std::ranges::count(small, 0u));
        here.wait(4);
    }
    test.equal(missing, std::uint64_t{0});
    if (world.rank() == 0) {
        for (std::uint32_t rank = 1; rank < world.size(); ++rank) {
            selion::notify(over.at(rank), selion::signal_set(1));
        }
    } else {
        while (!selion::wait_until(over.own(), 1, std::chrono::microseconds(1))) {
            if (has_real_time) std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    }
    world.barrier();
}

SPMD_TEST(put_get, last_put_wins_and_quiet_completes_all) {
    spmd::symmetric_array<std::uint32_t> cells(world, world.size());
    for (std::uint32_t d = 0; d < world.size(); ++d) {
        for (std::uint32_t value = 0; value < 100; ++value) {
            selion::put(cells.at(test.neighbour(d), world.rank()), value + world.rank());
        }
    }
    selion::quiet();
    world.sync();  // does not complete puts: quiet has
    for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
        test.equal(cells.mine()[rank], 99 + rank);
    }
}

}  // namespace
