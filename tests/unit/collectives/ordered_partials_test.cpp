// SPDX-License-Identifier: Apache-2.0
#include "collectives/ordered_partials.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "collectives/ordered_combination.hpp"

namespace selion::collectives {
namespace {

using value = std::uint64_t;

/// Neither associative nor commutative.
void mix(const void*, void* to, const void* left, const void* right, std::size_t elements) {
    const auto* const a = static_cast<const value*>(left);
    const auto* const b = static_cast<const value*>(right);
    for (std::size_t i = 0; i < elements; ++i) {
        static_cast<value*>(to)[i] = a[i] * 31 + (b[i] ^ a[i] >> 7) * 17 + 1;
    }
}

constexpr std::size_t count = 3;
const detail::reduction how{mix, nullptr, sizeof(value), 0};

std::vector<value> values_of(std::uint32_t member) {
    return {member * 1000003ull + 7, member * 17ull, ~std::uint64_t{member}};
}

const std::byte* bytes_of(const std::vector<value>& values) {
    return reinterpret_cast<const std::byte*>(values.data());
}

/// As boards and slots come to it.
std::vector<value> promised(std::uint32_t members) {
    std::vector<std::vector<value>> all;
    for (std::uint32_t member = 0; member < members; ++member) all.push_back(values_of(member));
    std::vector<value> result(count);
    ordered_combination combination;
    combination.prepare(members, sizeof(value));
    combination.combine(reinterpret_cast<std::byte*>(result.data()), {count, members, false}, how,
                        [&](std::uint32_t member, std::size_t from, std::size_t) {
                            return bytes_of(all[member]) + from;
                        });
    return result;
}

ordered_partials of_range(std::uint32_t members, std::uint32_t first, std::uint32_t end) {
    ordered_partials made(members, count, how);
    made.begin_at(first);
    for (std::uint32_t member = first; member < end; ++member) {
        made.add(bytes_of(values_of(member)));
    }
    return made;
}

std::vector<value> total_of(ordered_partials& all) {
    std::vector<value> result(count);
    std::memcpy(result.data(), all.total(), count * sizeof(value));
    return result;
}

TEST(ordered_partials, come_to_the_promised_association_however_members_are_cut) {
    for (std::uint32_t members = 1; members <= 21; ++members) {
        const std::vector<value> expected = promised(members);
        for (std::uint32_t first = 0; first <= members; ++first) {
            for (std::uint32_t second = first; second <= members; ++second) {
                ordered_partials left = of_range(members, 0, first);
                ordered_partials middle = of_range(members, first, second);
                const ordered_partials right = of_range(members, second, members);
                EXPECT_EQ(middle.bytes().size(), middle.bytes_of(first, second));
                middle.add_range(right.bytes(), members);
                middle.add_before(left.bytes(), 0);
                EXPECT_EQ(total_of(middle), expected) << members << ": " << first << ", " << second;
            }
        }
    }
}

TEST(ordered_partials, a_range_has_few_of_them) {
    constexpr std::size_t one = count * sizeof(value);
    EXPECT_EQ(of_range(8, 3, 7).bytes().size(), 3 * one);
    EXPECT_EQ(of_range(8, 4, 8).bytes().size(), one);
    EXPECT_EQ(of_range(1000, 1, 999).bytes().size(), 16 * one);
}

}  // namespace
}  // namespace selion::collectives
