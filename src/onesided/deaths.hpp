// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "machine/death_list.hpp"
#include "machine/machine.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion {
class counter;
}

/// What operations and waits do where ranks may die while the job goes on (`context.deaths`): the
/// rules are in src/machine/fabric/protocol.md, "Deaths that are reported".
namespace selion::onesided {

/// Ranks that a collective cannot do without.
class needed_ranks {
public:
    virtual std::optional<std::uint32_t> first_dead(const machine::death_list& deaths) const = 0;
    /// Whether one of them looks for those who live, and so takes part in nothing else.
    virtual bool have_left(const machine::death_list& deaths) const = 0;

protected:
    needed_ranks() = default;
    needed_ranks(const needed_ranks&) = default;
    needed_ranks& operator=(const needed_ranks&) = default;
    ~needed_ranks() = default;
};

/// @error selion::error, status::rank_dead: always.
[[noreturn]] void throw_rank_dead(const detail::rank_context& caller, std::uint32_t dead,
                                  std::string_view operation, std::size_t bytes = 0);

/// @error status::rank_dead: one of them is.
void expect_alive(const detail::rank_context& caller, const needed_ranks& all,
                  std::string_view operation);

/// Of an operation on a rank.
bool leaves_out_dead(detail::rank_context& caller, std::uint32_t rank, std::string_view operation,
                     std::size_t bytes);
/// The same, mostly nothing at all. @return whether it is to be left out, because the rank is dead
/// and a handler must not throw. @error status::rank_dead outside of handlers.
inline bool leaves_out(detail::rank_context& caller, std::uint32_t rank, std::string_view operation,
                       std::size_t bytes = 0) {
    if (caller.deaths == nullptr || caller.deaths->declared() == 0) [[likely]]
        return false;
    return leaves_out_dead(caller, rank, operation, bytes);
}

/// @error status::rank_dead: the rank has not acknowledged a death yet.
void expect_acknowledged(const detail::rank_context& caller, std::string_view operation);
/// The same of deaths that are settled: what they have lost is known.
void expect_told_acknowledged(const detail::rank_context& caller, std::string_view operation);

/// Operations that deaths have ended count on the counters: who waits for those has been told, or
/// does not want to be.
void count_lost_of(detail::rank_context& caller, std::span<counter* const> which);

/// `completion_queue::await`, which a death may end. @pre `caller.deaths` is set.
bool await_among_mortals(detail::rank_context& caller, const machine::wait_request& request);

/// What a machine calls once a rank is dead: answers that it owes do not come.
void lose_answers(detail::rank_context& context, std::uint32_t rank);

/// The first deaths that were declared, so many, end no wait any more, and operations that they
/// ended are counted. May wait a moment. @pre `caller.deaths` is set.
void acknowledge_deaths(detail::rank_context& caller, std::uint64_t number);
/// The same of all ranks that are dead now. @return those, in order.
std::vector<std::uint32_t> acknowledge_deaths(detail::rank_context& caller);

}  // namespace selion::onesided
