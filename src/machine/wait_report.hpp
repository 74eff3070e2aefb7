// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "machine/call_record.hpp"

namespace selion::machine {

struct turn_of_rank {
    std::optional<std::uint32_t> rank;  ///< nothing: nobody's own code runs, only handlers do
    bool is_in_handler;                 ///< of that rank, on whoever's stack
};

/// What a report sees of a job, whose ranks may go on meanwhile.
class observed_job {
public:
    virtual ~observed_job() = default;
    virtual std::uint32_t ranks() const = 0;
    virtual const call_record& record(std::uint32_t rank) const = 0;
    /// Of the thread that runs completion handlers beside a rank; null: it can have none.
    virtual const call_record* record_beside(std::uint32_t) const { return nullptr; }
    /// A rank's symmetric memory.
    virtual std::span<const std::byte> memory(std::uint32_t rank) const = 0;
    /// Whether calls of one number are sure to be of one kind, and of equal sizes, roots and types.
    virtual bool compares_calls() const = 0;
    /// Who alone runs, where ranks take turns.
    virtual std::optional<turn_of_rank> turn() const { return std::nullopt; }
    /// What else is known of a rank's wait: ", for an answer"; empty: nothing.
    virtual std::string more_of(std::uint32_t) const { return {}; }
    /// Whether it is sure that nobody who waits goes on.
    virtual bool is_in_deadlock() const { return false; }
};

/// What ranks may do that wait in a collective, and how to find out.
inline constexpr std::string_view disagreement_hint =
    "disagree in kind, size, root, type or modes (SELION_CHECK_CALLS=on tells most of that at the "
    "call)";

/// Who waits for whom, one line for all that wait in the same call for the same; and the last calls
/// of those who do not wait, unless somebody waits for them in a collective.
std::string explain_waits(const observed_job& job);

}  // namespace selion::machine
