// SPDX-License-Identifier: Apache-2.0
// Collectives of so many members that a part of a slot is not as long as an element, or that most
// of them have no elements to combine.
//   test_many_members words   an exchange of a word for every pair
//   test_many_members wide    sums of elements of 256 bytes
//   test_many_members wider   the same of 9600 bytes
// Prints at how many members something is wrong.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <selion/selion.hpp>

namespace {

using word = std::uint64_t;

/// A word for every pair.
bool exchange_words(selion::world& world) {
    std::vector<word> given(world.size());
    std::vector<word> got(world.size());
    for (word to = 0; to < given.size(); ++to) given[to] = world.rank() * given.size() + to;
    world.exchange(std::span<const word>(given), got);
    for (word from = 0; from < got.size(); ++from) {
        if (got[from] != from * got.size() + world.rank()) return false;
    }
    return true;
}

/// Elements of several words, so few that members outnumber them.
template <std::size_t Words>
bool combine_wide(selion::world& world) {
    using element = std::array<word, Words>;
    const auto sum = [](const element& left, const element& right) {
        element made;
        for (std::size_t i = 0; i < Words; ++i) made[i] = left[i] + right[i];
        return made;
    };
    const word size = world.size();
    const auto is_sum = [size](const element& one, word factor) {
        return std::ranges::all_of(
            one, [&](word each) { return each == factor * size * (size + 1) / 2; });
    };
    std::vector<element> all(size);
    for (word to = 0; to < size; ++to) all[to].fill((to + 1) * (world.rank() + 1));
    std::array<element, 1> own;
    world.reduce_scatter(std::span<const element>(all), std::span(own), sum);
    bool is_right = is_sum(own[0], world.rank() + 1);
    std::array<element, 2> few;
    for (element& one : few) one.fill(world.rank() + 1);
    const auto root = static_cast<std::uint32_t>(size - 1);
    world.reduce(std::span(few), sum, root);
    const word wanted = world.rank() == root ? size * (size + 1) / 2 : world.rank() + 1;
    for (const element& one : few) is_right &= std::ranges::count(one, wanted) == Words;
    // A root that may give up combines all itself.
    for (element& one : few) one.fill(world.rank() + 1);
    world.with_timeout(std::chrono::seconds(60)).reduce(std::span(few), sum, root);
    for (const element& one : few) is_right &= std::ranges::count(one, wanted) == Words;
    return is_right;
}

}  // namespace

int main(int argc, char** argv) {
    const std::map<std::string, bool (*)(selion::world&)> cases{
        {"words", exchange_words},
        {"wide", combine_wide<32>},
        {"wider", combine_wide<1200>},
    };
    return selion::run(argc, argv, [&](selion::world& world) {
        const bool is_right = cases.at(argc > 1 ? argv[1] : "words")(world);
        const auto wrong = world.reduce(std::uint32_t{!is_right}, selion::plus, 0u);
        if (world.rank() == 0) std::printf("%u of %u are wrong\n", *wrong, world.size());
        return 0;
    });
}
