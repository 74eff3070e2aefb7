// SPDX-License-Identifier: Apache-2.0
#include "selion/detail/block_checks.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>

#include "selion/expect.hpp"

namespace selion::detail {
namespace {

void expect_member(const char* what, std::uint32_t members, std::source_location site) {
    SELION_EXPECT_AT(members != 0, site,
                     fmt::format("{} of a team that the rank is no member of", what));
}

}  // namespace

void block_checks::expect_blocks(const char* what, std::size_t all, std::size_t own,
                                 std::source_location site) const {
    expect_member(what, view_.size, site);
    SELION_EXPECT_AT(all == own * view_.size, site,
                     fmt::format("{}: {} members with {} elements each make {}; {} are given", what,
                                 view_.size, own, own * view_.size, all));
}

namespace {

/// Parts of a member's memory, in bytes.
struct own_place {
    std::uintptr_t own;     ///< where the own block lies
    std::uintptr_t wanted;  ///< where it would lie within all
    std::size_t bytes;      ///< of it
    std::uintptr_t first;   ///< of all blocks
    std::uintptr_t end;
};

std::uintptr_t address_of(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }

/// As `expect_apart` says.
void expect_own_place(const char* what, const own_place& where, team_rank rank,
                      std::source_location site) {
    const bool is_apart =
        where.own + where.bytes <= where.first || where.own >= where.end || where.bytes == 0;
    SELION_EXPECT_AT(is_apart || where.own == where.wanted, site,
                     fmt::format("{}: the own block lies within all of them, but not where that of "
                                 "rank {} belongs; pass that part, or other memory",
                                 what, std::uint32_t{rank}));
}

}  // namespace

void block_checks::expect_apart(const char* what, const void* own, const void* all,
                                std::size_t block_bytes, std::source_location site) const {
    const std::uintptr_t first = address_of(all);
    expect_own_place(what,
                     {address_of(own), first + block_bytes * view_.rank, block_bytes, first,
                      first + block_bytes * view_.size},
                     view_.rank, site);
}

void block_checks::expect_varying_apart(const char* what, const void* own, const void* all,
                                        std::span<const std::size_t> counts,
                                        std::size_t element_bytes,
                                        std::source_location site) const {
    const std::uintptr_t first = address_of(all);
    const auto bytes_of_first = [&](std::size_t blocks) {
        const auto part = counts.first(blocks);
        return element_bytes * std::accumulate(part.begin(), part.end(), std::size_t{0});
    };
    expect_own_place(
        what,
        {address_of(own), first + bytes_of_first(view_.rank), element_bytes * counts[view_.rank],
         first, first + bytes_of_first(counts.size())},
        view_.rank, site);
}

void block_checks::end_for_member(team_rank member, std::source_location site) const {
    end_job_for_bug(view_.size == 0
                        ? std::string("world_rank of a team that the rank is no member of")
                        : fmt::format("world_rank: member {} of a team of {}; legal: 0 to {}",
                                      std::uint32_t{member}, view_.size, view_.size - 1),
                    site);
}

void block_checks::expect_exchange(std::size_t to_bytes, const void* to, std::size_t from_bytes,
                                   const void* from, std::size_t element_bytes,
                                   std::source_location site) const {
    SELION_EXPECT_AT(to_bytes == from_bytes, site,
                     fmt::format("exchange: {} elements are sent and {} received; they must be "
                                 "equally many",
                                 to_bytes / element_bytes, from_bytes / element_bytes));
    expect_member("exchange", view_.size, site);
    SELION_EXPECT_AT(to_bytes / element_bytes % view_.size == 0, site,
                     fmt::format("exchange: {} elements cannot be shared out to {} members equally",
                                 to_bytes / element_bytes, view_.size));
    const auto distance = static_cast<std::uint64_t>(
        std::abs(static_cast<const std::byte*>(to) - static_cast<const std::byte*>(from)));
    SELION_EXPECT_AT(distance == 0 || distance >= to_bytes, site,
                     std::string("exchange: the two buffers overlap in part; pass the same one "
                                 "twice, or two that have nothing in common"));
}

void block_checks::expect_disjoint(const char* what, std::span<const std::byte> to,
                                   std::span<const std::byte> from,
                                   std::source_location site) const {
    const bool is_apart = to.empty() || from.empty() || to.data() + to.size() <= from.data() ||
                          from.data() + from.size() <= to.data();
    SELION_EXPECT_AT(
        is_apart, site,
        fmt::format("{}: the two buffers overlap; pass two that have nothing in common", what));
}

void block_checks::expect_root(const char* what, team_rank root, std::source_location site) const {
    expect_member(what, view_.size, site);
    SELION_EXPECT_AT(root < view_.size, site,
                     fmt::format("{}: root {} is no member; members are 0 to {}", what,
                                 std::uint32_t{root}, view_.size - 1));
}

void block_checks::expect_counts(const char* what, std::size_t all,
                                 std::span<const std::size_t> counts,
                                 std::optional<std::size_t> own, std::source_location site) const {
    expect_member(what, view_.size, site);
    SELION_EXPECT_AT(counts.size() == view_.size, site,
                     fmt::format("{}: {} lengths are given; there are {} members", what,
                                 counts.size(), view_.size));
    std::size_t sum = 0;
    for (const std::size_t count : counts) {
        if (__builtin_add_overflow(sum, count, &sum)) sum = SIZE_MAX;
    }
    SELION_EXPECT_AT(
        sum == all, site,
        fmt::format("{}: the lengths add up to {}; {} elements are given", what, sum, all));
    SELION_EXPECT_AT(!own || *own == counts[view_.rank], site,
                     fmt::format("{}: the own block has {} elements; its length is given as {}",
                                 what, own.value_or(0), counts[view_.rank]));
}

}  // namespace selion::detail
