// SPDX-License-Identifier: Apache-2.0
/// Ways of which it is said that they keep the association of a sum come to the same bits.
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "conformance/spmd.hpp"

namespace {

using enum selion::collective_kind;
using selion::collective_choice;
using selion::collective_way;

/// Numbers of a block: some that go over the board, and some that may be read where they lie.
constexpr std::size_t few = 5;
constexpr std::size_t many = 50;

/// Numbers of very different sizes, so that every association has sums of its own.
std::vector<double> numbers_of(std::uint32_t rank, std::size_t wanted) {
    std::vector<double> numbers(wanted);
    std::uint64_t state = 88172645463325252u + rank * 977u;
    for (double& number : numbers) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const auto exponent = static_cast<int>(state >> 58) - 32;
        number = std::ldexp(static_cast<double>(state >> 12), exponent - 52);
    }
    return numbers;
}

std::vector<std::uint64_t> bits_of(selion::world& world, selion::collective_kind what,
                                   std::size_t count) {
    std::vector<double> own = numbers_of(world.rank(), count);
    const std::vector<double> all = numbers_of(world.rank(), count * world.size());
    const std::span block(own);
    switch (what) {
        case all_reduce: world.all_reduce(block, selion::plus); break;
        case reduce_scatter: world.reduce_scatter(std::span(all), block, selion::plus); break;
        case scan: world.scan(block, selion::plus); break;
        default: world.exscan(block, selion::plus, 0.0); break;
    }
    std::vector<std::uint64_t> bits;
    for (const double number : own) bits.push_back(std::bit_cast<std::uint64_t>(number));
    return bits;
}

void expect_kept(spmd::test_run& test, selion::world& world, std::size_t count) {
    for (const auto what : {all_reduce, reduce_scatter, scan, exscan}) {
        const auto usual = bits_of(world, what, count);
        for (const auto way : {collective_way::lines, collective_way::messages}) {
            for (const auto algorithm : selion::algorithms_for(what)) {
                const collective_choice how{way, {.algorithm = algorithm}};
                if (!selion::keeps_association(what, how, world.size())) continue;
                world.choose(what, how);
                test.that(bits_of(world, what, count) == usual, text_of(how));
            }
        }
        for (const auto way : {collective_way::board, collective_way::slots, collective_way::direct,
                               collective_way::nodes}) {
            world.choose(what, collective_choice{way, {}});
            test.that(bits_of(world, what, count) == usual, name_of(way));
        }
        world.choose(what, {});
    }
}

SPMD_TEST(association, is_kept_by_ways_of_which_that_is_said) {
    expect_kept(test, world, few);
    expect_kept(test, world, many);
}

SPMD_TEST(association, of_a_reduce_at_member_0) {
    const auto sum = [&] {
        std::vector<double> own = numbers_of(world.rank(), many);
        world.reduce(std::span(own), selion::plus, 0u);
        return own;
    };
    const auto usual = sum();
    for (const auto way : {collective_way::lines, collective_way::messages}) {
        world.choose(reduce,
                     collective_choice{way, {.algorithm = selion::schedule_algorithm::k_nomial}});
        test.that(sum() == usual, name_of(way));
    }
    world.choose(reduce, {});
}

SPMD_TEST(association, of_a_reduce_read_where_the_data_lie) {
    std::vector<double> all = numbers_of(world.rank(), many);
    world.all_reduce(std::span(all), selion::plus);
    world.choose(reduce, collective_choice{collective_way::direct, {}});
    for (const std::uint32_t root : {0u, world.size() / 2, world.size() - 1}) {
        std::vector<double> own = numbers_of(world.rank(), many);
        world.reduce(std::span(own), selion::plus, root);
        test.that(world.rank() != root || own == all, "the sum is that of an all_reduce");
    }
    world.choose(reduce, {});
}

}  // namespace
