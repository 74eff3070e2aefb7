// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>

namespace selion {

class team_rank;

/// Number of a rank in the world, 0 .. size - 1. Converts to and from integers, never to or from a
/// `team_rank`: the two count different things.
class rank_id {
public:
    constexpr rank_id() noexcept = default;
    /// They count different things: `team.world_rank(member)` is the rank that a member is.
    template <std::same_as<team_rank> Team>
    rank_id(Team member) = delete;
    template <std::integral Integer>
    constexpr rank_id(Integer value) noexcept : value_(static_cast<std::uint32_t>(value)) {}
    constexpr operator std::uint32_t() const noexcept { return value_; }
    constexpr rank_id& operator++() noexcept {
        ++value_;
        return *this;
    }
    constexpr rank_id operator++(int) noexcept {
        const rank_id before = *this;
        ++*this;
        return before;
    }
    template <std::integral Integer>
    constexpr rank_id& operator+=(Integer step) noexcept {
        value_ += static_cast<std::uint32_t>(step);
        return *this;
    }
    constexpr rank_id& operator+=(rank_id step) noexcept { return *this += step.value_; }

private:
    std::uint32_t value_ = 0;
};

/// Number of a rank within a team, 0 .. team size - 1.
class team_rank {
public:
    constexpr team_rank() noexcept = default;
    /// They count different things: `team.rank_of(rank)` is the member that a rank is.
    template <std::same_as<rank_id> World>
    team_rank(World rank) = delete;
    template <std::integral Integer>
    constexpr team_rank(Integer value) noexcept : value_(static_cast<std::uint32_t>(value)) {}
    constexpr operator std::uint32_t() const noexcept { return value_; }
    constexpr team_rank& operator++() noexcept {
        ++value_;
        return *this;
    }
    constexpr team_rank operator++(int) noexcept {
        const team_rank before = *this;
        ++*this;
        return before;
    }
    template <std::integral Integer>
    constexpr team_rank& operator+=(Integer step) noexcept {
        value_ += static_cast<std::uint32_t>(step);
        return *this;
    }
    constexpr team_rank& operator+=(team_rank step) noexcept { return *this += step.value_; }

private:
    std::uint32_t value_ = 0;
};

// Templates, so that they take part only where both kinds meet and leave `rank == 0` alone.
template <std::same_as<rank_id> World, std::same_as<team_rank> Team>
void operator+(World, Team) = delete;
template <std::same_as<team_rank> Team, std::same_as<rank_id> World>
void operator+(Team, World) = delete;
template <std::same_as<rank_id> World, std::same_as<team_rank> Team>
void operator-(World, Team) = delete;
template <std::same_as<team_rank> Team, std::same_as<rank_id> World>
void operator-(Team, World) = delete;
template <std::same_as<rank_id> World, std::same_as<team_rank> Team>
bool operator==(World, Team) = delete;
template <std::same_as<team_rank> Team, std::same_as<rank_id> World>
bool operator==(Team, World) = delete;

}  // namespace selion
