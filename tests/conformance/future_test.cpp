// SPDX-License-Identifier: Apache-2.0
/// What follows futures, and many of them as one.
#include <array>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

using selion::future;

int twice(int value) { return 2 * value; }
void nothing() {}

using no_value = decltype(selion::when_all(std::declval<future<>>(), std::declval<future<>>()));
using one_value = decltype(selion::when_all(std::declval<future<>>(), std::declval<future<int>>()));
static_assert(std::is_same_v<no_value, future<>>);
static_assert(std::is_same_v<one_value, future<std::tuple<int>>>);
static_assert(std::is_same_v<decltype(selion::when_all()), future<>>);

SPMD_TEST(future, parts_without_a_value_are_left_out) {
    const selion::rank_id to = test.neighbour();
    selion::when_all(selion::rpc(to, nothing), selion::make_ready()).get();
    auto mixed = selion::when_all(selion::rpc(to, nothing), selion::rpc(to, twice, 4),
                                  selion::make_ready(), selion::make_ready(std::string("word")));
    const auto [eight, word] = mixed.get();
    test.equal(eight, 8);
    test.equal(word, std::string("word"));
    selion::when_all().get();
    world.barrier();
}

SPMD_TEST(future, one_may_gather_all_in_a_loop) {
    spmd::symmetric_array<int> cells(world, 1);
    const auto there = cells.at(test.neighbour());
    const std::uint32_t rounds = test.rounds(10'000, 500);
    future<> all = selion::make_ready();
    for (std::uint32_t i = 0; i < rounds; ++i) {
        all = selion::when_all(std::move(all),
                               selion::put(there, static_cast<int>(i), selion::as_future));
        all = selion::when_all(std::move(all), selion::rpc(test.neighbour(), nothing));
    }
    all.get();
    world.barrier();
    test.equal(*cells.mine(), static_cast<int>(rounds) - 1);
    world.barrier();
}

SPMD_TEST(future, a_function_takes_a_tuple_or_its_elements) {
    const selion::rank_id to = test.neighbour();
    const auto both = [&] {
        return selion::when_all(selion::rpc(to, twice, 1), selion::rpc(to, nothing),
                                selion::make_ready(std::make_unique<int>(40)));
    };
    const auto sum = [](int two, std::unique_ptr<int> forty) { return two + *forty; };
    test.equal(both().then(sum).get(), 42);
    const auto of_tuple = [](const std::tuple<int, std::unique_ptr<int>>& all) {
        return std::get<0>(all) + *std::get<1>(all);
    };
    test.equal(both().then(of_tuple).get(), 42);
    test.equal(both().then([](const auto& all) { return std::get<0>(all); }).get(), 2);
    auto nested = both().then([to](int two, const auto&) { return selion::rpc(to, twice, two); });
    test.equal(nested.get(), 4);
    world.barrier();
}

SPMD_TEST(future, ranges_of_them_are_gathered) {
    std::vector<future<int>> calls;
    for (std::uint32_t i = 0; i < 100; ++i) {
        calls.push_back(selion::rpc(test.neighbour(i % 3 + 1), twice, static_cast<int>(i)));
    }
    auto all = selion::when_all(std::move(calls));
    static_assert(std::is_same_v<decltype(all), future<std::vector<int>>>);
    const std::vector<int> values = all.get();
    test.equal(values.size(), std::size_t{100});
    for (int i = 0; i < 100; ++i) test.equal(values[static_cast<std::size_t>(i)], 2 * i);

    std::vector<future<>> without_values;
    for (int i = 0; i < 10; ++i) without_values.push_back(selion::rpc(test.neighbour(), nothing));
    selion::when_all(std::span(without_values)).get();
    test.that(!without_values.front().is_valid(), "they have been taken");

    std::array<future<std::unique_ptr<int>>, 2> owners{
        selion::make_ready(std::make_unique<int>(1)), selion::make_ready(std::make_unique<int>(2))};
    test.equal(*selion::when_all(std::move(owners)).get()[1], 2);
    std::vector<future<bool>> flags;
    flags.push_back(selion::make_ready(true));
    test.that(selion::when_all(std::move(flags)).get()[0], "a flag");
    test.that(selion::when_all(std::vector<future<int>>()).get().empty(), "none");
    world.barrier();
}

int find(int row) {
    if (row > 0) throw std::out_of_range("row " + std::to_string(row));
    return row;
}

SPMD_TEST(future, of_many_exceptions_the_first_ones_comes_out) {
    const selion::rank_id to = test.neighbour();
    const auto fails = [&](auto all) {
        try {
            static_cast<void>(all.get());
            test.fail("an exception is expected");
        } catch (const selion::remote_error& trouble) {
            test.that(std::string(trouble.what()).ends_with("row 1"), trouble.what());
        }
    };
    std::vector<future<int>> calls;
    for (int row = 0; row < 3; ++row) calls.push_back(selion::rpc(to, find, row));
    fails(selion::when_all(std::move(calls)));
    fails(selion::when_all(selion::rpc(to, find, 0), selion::rpc(to, find, 1),
                           selion::rpc(to, find, 2)));
    world.barrier();
}

}  // namespace
