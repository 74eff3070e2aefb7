// SPDX-License-Identifier: Apache-2.0
/// The association of a reduction is one for each number of ranks, whatever the machine.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "selion/selion.hpp"

namespace selion {
namespace {

/// A formula in words: which ranks were combined how.
struct formula {
    std::array<char, 120> text;

    std::string words() const { return text.data(); }
};

formula formula_of(const std::string& words) {
    formula made{};
    words.copy(made.text.data(), made.text.size() - 1);
    return made;
}

formula join(const formula& left, const formula& right) {
    return formula_of("(" + left.words() + " " + right.words() + ")");
}

std::string expected(std::uint32_t first, std::uint32_t ranks) {
    if (ranks == 1) return std::to_string(first);
    const std::uint32_t left = std::bit_floor(ranks - 1);
    return "(" + expected(first, left) + " " + expected(first + left, ranks - left) + ")";
}

/// Every formula that a rank of the machine comes to: by a value, and by each element of spans that
/// the ranks combine alone, share out, and send in several parts.
std::set<std::string> formulas(const std::string& machine) {
    std::set<std::string> all;
    std::mutex mutex;
    const int status = run(0, nullptr, run_options{.machine = machine}, [&](const world& world) {
        const formula own = formula_of(std::to_string(std::uint32_t{world.rank()}));
        std::set<std::string> seen{world.all_reduce(own, join).words()};
        for (const std::size_t count : {2, 40, 200, 600}) {
            std::vector<formula> data(count, own);
            world.all_reduce(std::span(data), join);
            for (const formula& one : data) seen.insert(one.words());
        }
        const std::lock_guard lock(mutex);
        all.merge(seen);
    });
    EXPECT_EQ(status, 0);
    return all;
}

TEST(association, is_the_same_by_shared_memory_and_by_messages) {
    for (std::uint32_t ranks = 1; ranks <= 17; ++ranks) {
        const std::set<std::string> only{expected(0, ranks)};
        const std::string machine = "threads:" + std::to_string(ranks);
        EXPECT_EQ(formulas(machine), only) << machine;
        EXPECT_EQ(formulas(machine + "@1"), only) << machine;
        EXPECT_EQ(formulas(machine + ",direct=off"), only) << machine;
        EXPECT_EQ(formulas("sim:crossbar,ranks=" + std::to_string(ranks)), only) << ranks;
    }
}

TEST(association, can_be_written_down) { EXPECT_EQ(expected(0, 7), "(((0 1) (2 3)) ((4 5) 6))"); }

}  // namespace
}  // namespace selion
