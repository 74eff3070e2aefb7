// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/team_tuning.hpp"

#include "collectives/collective_plan.hpp"

namespace selion::collectives {
namespace {

/// Messages of everybody to everybody, or of one to all: with more members than were measured they
/// fall behind trees.
bool grows_with_members(const collective_choice& choice) {
    return follows_schedule(choice.way) &&
           (choice.schedule.algorithm == schedule_algorithm::flat ||
            choice.schedule.algorithm == schedule_algorithm::pairwise);
}

}  // namespace

team_tuning::team_tuning(const tuning_table* table, std::uint32_t members) : members_(members) {
    if (table == nullptr) return;
    for (std::size_t what = 0; what < collective_kinds; ++what) {
        rows_[what] = table->rows(static_cast<collective_kind>(what), members);
    }
}

const tuning_row* team_tuning::row_of(collective_kind what, std::size_t bytes) const {
    const auto& rows = rows_[static_cast<std::size_t>(what)];
    for (const tuning_row& row : rows) {
        if (bytes <= row.bytes) return &row;
    }
    return rows.empty() ? nullptr : &rows.back();
}

bool team_tuning::is_for(const tuning_row& row, const tuning_candidate& candidate) const {
    return candidate.keeps_association &&
           (row.members == members_ || !grows_with_members(candidate.choice));
}

const collective_choice* team_tuning::find_in_rows(const team_members& members,
                                                   const detail::block_call& call) const {
    if (call.most != 0) return nullptr;  // blocks that differ in length are not measured
    const tuning_row& row = *row_of(call.what, call.block_bytes());
    for (const tuning_candidate& candidate : row.candidates) {
        if (is_for(row, candidate) && is_possible(candidate.choice.way, members, call)) {
            return &candidate.choice;
        }
    }
    return nullptr;
}

}  // namespace selion::collectives
