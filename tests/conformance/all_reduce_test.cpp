// SPDX-License-Identifier: Apache-2.0
/// Reductions of every kind and size, against the same combination done alone.
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <type_traits>

#include "conformance/memory_parts.hpp"

namespace {

/// The contribution of a rank to element `index`; a function that every rank can compute.
using seed_function = std::uint64_t (*)(std::uint32_t rank, std::size_t index);

std::uint64_t scramble(std::uint32_t rank, std::size_t index) {
    std::uint64_t x = (rank + 1) * 0x9e3779b97f4a7c15ull + index * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 31)) * 0x94d049bb133111ebull;
    return x ^ (x >> 29);
}

template <class T>
T own_value(std::uint32_t rank, std::size_t index) {
    const std::uint64_t bits = scramble(rank, index);
    if constexpr (std::is_floating_point_v<T>) {
        // Magnitudes so different that the order of additions shows in the last bits.
        const double mantissa = 1.0 + static_cast<double>(bits >> 12) * 0x1p-52;
        const double value = std::ldexp(mantissa, static_cast<int>(bits % 37) - 18);
        return static_cast<T>(bits & 64 ? -value : value);
    } else if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(bits);
    } else {
        return T::from_bits(bits);
    }
}

/// The values of `ranks` ranks from `first` on, in the association that all_reduce promises: as
/// many on the left as the largest power of two that leaves some for the right.
template <class T, class Operation>
T combined(std::uint32_t first, std::uint32_t ranks, std::size_t index,
           const Operation& operation) {
    if (ranks == 1) return own_value<T>(first, index);
    const std::uint32_t left = std::bit_floor(ranks - 1);
    return operation(combined<T>(first, left, index, operation),
                     combined<T>(first + left, ranks - left, index, operation));
}

template <class T, class Operation>
T combined(const selion::world& world, std::size_t index, const Operation& operation) {
    return combined<T>(0, world.size(), index, operation);
}

template <class T, class Operation>
void reduce_value(spmd::test_run& test, selion::world& world, const Operation& operation) {
    for (std::size_t index = 0; index < 5; ++index) {
        test.same_bits(world.all_reduce(own_value<T>(world.rank(), index), operation),
                       combined<T>(world, index, operation));
    }
}

template <class T, class Operation>
void reduce_span(spmd::test_run& test, selion::world& world, std::size_t count,
                 const Operation& operation) {
    std::vector<T> data(count + 2, own_value<T>(0, 12345));
    for (std::size_t i = 0; i < count; ++i) data[i + 1] = own_value<T>(world.rank(), i);
    world.all_reduce(std::span(data).subspan(1, count), operation);
    test.same_bits(data.front(), own_value<T>(0, 12345));
    test.same_bits(data.back(), own_value<T>(0, 12345));
    // Every element for small ones; of large ones both ends, and places in between.
    const std::size_t step = count * world.size() > 100'000 ? 97 : 1;
    for (std::size_t i = 0; i < count; i += i + 300 < count ? step : 1) {
        test.same_bits(data[i + 1], combined<T>(world, i, operation));
    }
}

/// 2 x 2 matrices modulo 2^64: associative, not commutative.
struct matrix {
    std::array<std::uint64_t, 4> of;

    static matrix from_bits(std::uint64_t bits) {
        return {{bits & 7, bits >> 3 & 7, bits >> 6 & 7, bits >> 9 & 7}};
    }
    friend matrix operator*(const matrix& a, const matrix& b) {
        return {{a.of[0] * b.of[0] + a.of[1] * b.of[2], a.of[0] * b.of[1] + a.of[1] * b.of[3],
                 a.of[2] * b.of[0] + a.of[3] * b.of[2], a.of[2] * b.of[1] + a.of[3] * b.of[3]}};
    }
};

/// A text as the hash of its letters, with what a letter before it counts: concatenation.
struct text_hash {
    std::uint64_t hash;
    std::uint64_t weight;

    static text_hash from_bits(std::uint64_t bits) { return {bits % 251, 257}; }
};

constexpr auto concatenate = [](const text_hash& a, const text_hash& b) {
    return text_hash{a.hash * b.weight + b.hash, a.weight * b.weight};
};

/// As large as a slot is: the largest element that can be reduced.
struct huge_element {
    std::array<std::uint64_t, 4096> words;

    static huge_element from_bits(std::uint64_t bits) {
        huge_element made;
        for (std::size_t i = 0; i < made.words.size(); ++i) made.words[i] = bits + i;
        return made;
    }
};

constexpr auto add_huge = [](const huge_element& a, const huge_element& b) {
    huge_element sum = a;
    for (std::size_t i = 0; i < sum.words.size(); ++i) sum.words[i] += b.words[i];
    return sum;
};

/// Twelve bytes: slots do not hold a whole number of them.
struct triple {
    std::array<std::uint32_t, 3> of;

    static triple from_bits(std::uint64_t bits) {
        return {{static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 13), 3}};
    }
};

constexpr auto weigh = [](const triple& a, const triple& b) {  // affine maps: not commutative
    return triple{{a.of[0] * b.of[0], a.of[0] * b.of[1] + a.of[1], a.of[2] + b.of[2]}};
};

struct alignas(64) lonely {
    std::uint64_t value;
    std::uint64_t filler[7];

    static lonely from_bits(std::uint64_t bits) { return {bits, {}}; }
};

constexpr auto add_lonely = [](const lonely& a, const lonely& b) {
    return lonely{a.value + b.value, {}};
};

template <class T>
void standard_operations(spmd::test_run& test, selion::world& world) {
    reduce_value<T>(test, world, selion::plus);
    reduce_value<T>(test, world, selion::times);
    reduce_value<T>(test, world, selion::minimum);
    reduce_value<T>(test, world, selion::maximum);
    reduce_span<T>(test, world, 100, selion::plus);
    reduce_span<T>(test, world, 100, selion::maximum);
}

SPMD_TEST(all_reduce, standard_operations_on_integers) {
    standard_operations<std::uint8_t>(test, world);
    standard_operations<std::uint16_t>(test, world);
    standard_operations<std::uint32_t>(test, world);
    standard_operations<std::uint64_t>(test, world);
    reduce_value<std::int64_t>(test, world, selion::minimum);
    reduce_value<std::int64_t>(test, world, selion::maximum);
}

SPMD_TEST(all_reduce, floats_are_combined_in_one_association_everywhere) {
    standard_operations<float>(test, world);
    standard_operations<double>(test, world);
    for (const std::size_t count : {1, 333, 4096, 4097, 20'000}) {
        reduce_span<double>(test, world, count, selion::plus);
        reduce_span<float>(test, world, count, selion::plus);
    }
}

SPMD_TEST(all_reduce, the_order_of_the_ranks_is_kept) {
    reduce_value<matrix>(test, world, selion::times);
    reduce_value<text_hash>(test, world, concatenate);
    reduce_value<triple>(test, world, weigh);
    for (const std::size_t count : {0, 1, 2, 63, 1000, 1024, 1025, 5000}) {
        reduce_span<matrix>(test, world, count, selion::times);
        reduce_span<text_hash>(test, world, count, concatenate);
    }
}

std::uint64_t first_of_two(const std::uint64_t& a, const std::uint64_t&) { return a; }

SPMD_TEST(all_reduce, operations_may_be_plain_functions) {
    reduce_value<std::uint64_t>(test, world, first_of_two);
    reduce_span<std::uint64_t>(test, world, 50, first_of_two);
}

SPMD_TEST(all_reduce, operations_may_carry_state) {
    const auto times_modulo = [modulus = std::uint64_t{1'000'003}](std::uint64_t a,
                                                                   std::uint64_t b) {
        return a % modulus * (b % modulus) % modulus;
    };
    reduce_value<std::uint64_t>(test, world, times_modulo);
    reduce_span<std::uint64_t>(test, world, 777, times_modulo);
}

SPMD_TEST(all_reduce, spans_of_every_size) {
    // Around what is sent unasked (48 bytes), around the bytes of a slot (32 KiB), where the ranks
    // begin to share the work (64 KiB), and more slots than a tree of 8 ranks has on its way.
    const std::size_t shared_from = 65536 / 8 / world.size();
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{6}, std::size_t{7}, std::size_t{4095},
          std::size_t{4096}, std::size_t{4097}, std::size_t{8192}, std::size_t{12'345},
          std::size_t{40'001}, shared_from - 1, shared_from, shared_from + 1}) {
        reduce_span<std::uint64_t>(test, world, count, selion::plus);
    }
    for (const std::size_t count : {1, 32'768, 40'000, 100'001}) {
        reduce_span<std::uint8_t>(test, world, count, selion::plus);
    }
    for (const std::size_t count : {1, 2730, 2731, 6000}) {
        reduce_span<triple>(test, world, count, weigh);
    }
}

SPMD_TEST(all_reduce, large_and_aligned_elements) {
    reduce_value<huge_element>(test, world, add_huge);
    reduce_span<huge_element>(test, world, 3, add_huge);
    reduce_value<lonely>(test, world, add_lonely);
    reduce_span<lonely>(test, world, 1500, add_lonely);
}

SPMD_TEST(all_reduce, fewer_elements_than_ranks_in_the_shared_path) {
    // Two elements of 16 KiB: some ranks have no share of them.
    struct block {
        std::array<std::uint32_t, 4096> words;
        static block from_bits(std::uint64_t bits) {
            block made;
            made.words.fill(static_cast<std::uint32_t>(bits));
            return made;
        }
    };
    const auto add = [](const block& a, const block& b) {
        block sum = a;
        for (std::size_t i = 0; i < sum.words.size(); ++i) sum.words[i] += b.words[i];
        return sum;
    };
    reduce_span<block>(test, world, 1, add);
    reduce_span<block>(test, world, 2, add);
    reduce_span<block>(test, world, 5, add);
}

SPMD_TEST(all_reduce, special_floats_stay_what_they_are) {
    const double infinity = std::numeric_limits<double>::infinity();
    test.same_bits(world.all_reduce(-0.0, selion::plus), -0.0);
    test.same_bits(world.all_reduce(world.rank() == 0 ? infinity : 1.0, selion::plus), infinity);
    test.same_bits(world.all_reduce(5e-324, selion::maximum), 5e-324);
    const double all = world.all_reduce(
        world.rank() + 1 == world.size() ? std::numeric_limits<double>::quiet_NaN() : 1.0,
        selion::plus);
    test.that(std::isnan(all), "not a number is infectious");
}

/// Takes its time on one rank.
struct slow_sum {
    bool is_slow;
    std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
        if (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return a + b;
    }
};

/// Nobody waits for data where there are none; yet whoever is done with several such does not
/// overwrite what another one still combines.
SPMD_TEST(all_reduce, ones_of_nothing_hurry_nobody) {
    if (world.size() > 8) return;
    const std::uint64_t ranks = world.size();
    for (std::uint32_t between = 0; between < 9; ++between) {
        const slow_sum sum{world.rank() == world.size() - 1};
        std::uint64_t value = 100 * between + world.rank();
        test.equal(world.all_reduce(value, sum), 100 * between * ranks + ranks * (ranks - 1) / 2);
        std::span<std::uint64_t> nothing;
        for (std::uint32_t i = 0; i < between; ++i) world.all_reduce(nothing, selion::plus);
        test.equal(world.all_reduce(std::uint64_t{7}, selion::plus), 7 * ranks);
    }
}

SPMD_TEST(all_reduce, one_after_another_keeps_them_apart) {
    for (std::uint64_t round = 0; round < test.rounds(8000, 40); ++round) {
        const std::uint64_t ranks = world.size();
        test.equal(world.all_reduce(round * 1000 + world.rank(), selion::plus),
                   round * 1000 * ranks + ranks * (ranks - 1) / 2);
    }
}

}  // namespace
