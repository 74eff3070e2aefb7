// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <selion/collective_choice.hpp>
#include <selion/detail/export.hpp>
#include <selion/schedule.hpp>

namespace selion {

/// Who has chosen how a collective is carried out.
enum class choice_reason {
    program,  ///< `team::choose`
    tuned,    ///< the table that `selion tune` has written
    rule,     ///< the rule that is built in
};
SELION_API std::string_view name_of(choice_reason reason);

/// A way to carry out a collective, and what it has taken on this host.
struct measured_choice {
    collective_choice choice;
    double ns = 0;  ///< of one call, of the member that took longest
};

/// See `team::explain`.
struct collective_explanation {
    collective_kind collective = collective_kind::barrier;
    std::size_t bytes = 0;      ///< of one block
    std::uint32_t members = 0;  ///< of the team
    collective_choice choice;
    choice_reason reason = choice_reason::rule;
    std::string why;  ///< one sentence
    /// Of a tuned choice the row of the table that it comes from: for blocks of up to so many
    /// bytes, and a team of so many members.
    std::size_t measured_bytes = 0;
    std::uint32_t measured_members = 0;
    /// All candidates of that row, those that would be chosen first in front.
    std::vector<measured_choice> measured = {};
};

}  // namespace selion
