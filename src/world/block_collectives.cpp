// SPDX-License-Identifier: Apache-2.0
/// What collectives of blocks check before they begin, and what they ask of other collectives.
#include "selion/block_collectives.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>

#include "selion/expect.hpp"
#include "selion/team.hpp"

namespace selion {

void block_collectives::expect_blocks(const char* what, std::size_t all, std::size_t own,
                                      std::source_location site) const {
    SELION_EXPECT_AT(all == own * size(), site,
                     fmt::format("{}: {} members with {} elements each make {}; {} are given", what,
                                 size(), own, own * size(), all));
}

/// The own block is the rank's block of all, or has nothing in common with them.
void block_collectives::expect_apart(const char* what, const void* own, const void* all,
                                     std::size_t block_bytes, std::source_location site) const {
    const auto mine = reinterpret_cast<std::uintptr_t>(own);
    const auto first = reinterpret_cast<std::uintptr_t>(all);
    const std::uintptr_t end = first + block_bytes * size();
    const bool is_apart = mine + block_bytes <= first || mine >= end || block_bytes == 0;
    SELION_EXPECT_AT(is_apart || mine == first + block_bytes * rank(), site,
                     fmt::format("{}: the own block lies within all of them, but not where that of "
                                 "rank {} belongs; pass that part, or other memory",
                                 what, std::uint32_t{rank()}));
}

void block_collectives::expect_exchange(std::size_t to_bytes, const void* to,
                                        std::size_t from_bytes, const void* from,
                                        std::size_t element_bytes,
                                        std::source_location site) const {
    SELION_EXPECT_AT(to_bytes == from_bytes, site,
                     fmt::format("exchange: {} elements are sent and {} received; they must be "
                                 "equally many",
                                 to_bytes / element_bytes, from_bytes / element_bytes));
    SELION_EXPECT_AT(size() != 0, site,
                     std::string("exchange of a team that the rank is no member of"));
    SELION_EXPECT_AT(to_bytes / element_bytes % size() == 0, site,
                     fmt::format("exchange: {} elements cannot be shared out to {} members equally",
                                 to_bytes / element_bytes, size()));
    const auto distance = static_cast<std::uint64_t>(
        std::abs(static_cast<const std::byte*>(to) - static_cast<const std::byte*>(from)));
    SELION_EXPECT_AT(distance == 0 || distance >= to_bytes, site,
                     std::string("exchange: the two buffers overlap in part; pass the same one "
                                 "twice, or two that have nothing in common"));
}

void block_collectives::expect_counts(const char* what, std::size_t all,
                                      std::span<const std::size_t> counts,
                                      std::optional<std::size_t> own,
                                      std::source_location site) const {
    SELION_EXPECT_AT(
        counts.size() == size(), site,
        fmt::format("{}: {} lengths are given; there are {} members", what, counts.size(), size()));
    const std::size_t sum = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    SELION_EXPECT_AT(
        sum == all, site,
        fmt::format("{}: the lengths add up to {}; {} elements are given", what, sum, all));
    SELION_EXPECT_AT(!own || *own == counts[rank()], site,
                     fmt::format("{}: the own block has {} elements; its length is given as {}",
                                 what, own.value_or(0), counts[rank()]));
}

void block_collectives::share(std::span<std::byte> data, team_rank root,
                              std::source_location site) const {
    detail::broadcast(view_, data, root, site);
}

std::size_t block_collectives::longest(std::size_t own, std::source_location site) const {
    detail::all_reduce(view_, &own, 1, detail::erase_reduction<std::size_t>(maximum), site);
    return own;
}

}  // namespace selion
