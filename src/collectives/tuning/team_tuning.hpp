// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <span>

#include "collectives/team_members.hpp"
#include "collectives/tuning/cost_model.hpp"
#include "collectives/tuning/tuning_table.hpp"
#include "selion/detail/block_call.hpp"

namespace selion::collectives {

/// Which way each collective of a team goes where the program has not chosen: as a table says that
/// was measured, or else as the costs of the host say. All members come to the same.
class team_tuning {
public:
    /// @param table null: nothing was measured; else it lives longer than this.
    team_tuning(const tuning_table* table, const team_members& members);
    /// The same anew, when the members' nodes or the table have become known.
    void look_up(const tuning_table* table);

    /// @return null where neither says anything. Valid as long as this.
    const collective_choice* find(const detail::block_call& call);
    /// The row that `find` would look at; null: none.
    const tuning_row* row_of(collective_kind what, std::size_t bytes);

private:
    const tuning_row* measured_row(collective_kind what, std::size_t bytes) const;
    const tuning_row& predicted_row(collective_kind what, std::size_t bytes);
    const tuning_row* row_from_model(collective_kind what, std::size_t bytes);
    bool is_for(const tuning_row& row, const tuning_candidate& candidate) const;
    bool has_room(const collective_choice& choice, const detail::block_call& call) const;

    const team_members& members_;
    std::array<std::span<const tuning_row>, collective_kinds> rows_;
    const host_costs* costs_ = nullptr;  ///< null: the host is simulated, or members share no
                                         ///< memory with any other, or are many on a network
    team_shape shape_;
    std::array<std::list<tuning_row>, collective_kinds> predicted_;  ///< as far as needed yet
    std::array<const tuning_row*, collective_kinds> latest_ = {};    ///< of these
};

}  // namespace selion::collectives
