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
    model,    ///< what the host's costs come to: nothing has been measured
    rule,     ///< the rule that is built in, where time is virtual or memory not shared
};
SELION_API std::string_view name_of(choice_reason reason);

/// A way to carry out a collective, and what it takes on this host.
struct timed_choice {
    collective_choice choice;
    double ns = 0;  ///< of one call, of the member that takes longest
};

/// See `team::explain`.
struct collective_explanation {
    collective_kind collective = collective_kind::barrier;
    std::size_t bytes = 0;      ///< of one block
    std::uint32_t members = 0;  ///< of the team
    collective_choice choice;
    choice_reason reason = choice_reason::rule;
    std::string why;  ///< one sentence
    /// What is known, measured or else predicted: for blocks of up to so many bytes, and a team of
    /// so many members. 0: nothing.
    std::size_t known_bytes = 0;
    std::uint32_t known_members = 0;
    bool is_measured = false;
    /// All candidates, those that would be chosen first in front.
    std::vector<timed_choice> candidates = {};
};

}  // namespace selion
