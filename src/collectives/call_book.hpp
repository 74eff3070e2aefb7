// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "collectives/team_block.hpp"

namespace selion::collectives {

/// What ranks have called, to be compared where words and messages would take time that is
/// measured: on machines whose time is virtual. Their ranks live in one process and run one at a
/// time.
class call_book {
public:
    /// A collective of a team: all members count alike.
    struct place {
        std::uint64_t team;
        std::uint64_t number;
        auto operator<=>(const place&) const = default;
    };
    /// What a member, by its number, is about to do.
    struct entry {
        std::uint32_t member;
        placed_call call;
    };

    /// Notes what a member calls. @param members that will do so, each once.
    /// @return what the first of them has called.
    entry note(const place& where, const entry& mine, std::uint32_t members);

private:
    struct page {
        entry first;
        std::uint32_t members;  ///< that have called so far
    };
    std::map<place, page> pages_;  ///< of collectives that some members have not called yet
};

}  // namespace selion::collectives
