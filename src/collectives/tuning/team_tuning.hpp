// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "collectives/team_members.hpp"
#include "collectives/tuning/tuning_table.hpp"
#include "selion/detail/block_call.hpp"

namespace selion::collectives {

/// What a table says of one team; all members have the same.
class team_tuning {
public:
    /// @param table null: nothing; else it lives longer than this.
    team_tuning(const tuning_table* table, std::uint32_t members);

    /// @return null where the table does not say.
    const collective_choice* find(const team_members& members,
                                  const detail::block_call& call) const {
        if (rows_[static_cast<std::size_t>(call.what)].empty()) return nullptr;
        return find_in_rows(members, call);
    }
    /// The row that `find` would look at; null: none.
    const tuning_row* row_of(collective_kind what, std::size_t bytes) const;

private:
    const collective_choice* find_in_rows(const team_members& members,
                                          const detail::block_call& call) const;
    bool is_for(const tuning_row& row, const tuning_candidate& candidate) const;

    std::uint32_t members_;
    std::array<std::span<const tuning_row>, collective_kinds> rows_;
};

}  // namespace selion::collectives
