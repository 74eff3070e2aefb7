// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/team_tuning.hpp"

#include <algorithm>

#include "collectives/collective_plan.hpp"
#include "collectives/tuning/model_ways.hpp"
#include "machine/machine.hpp"
#include "selion/tuning.hpp"

namespace selion::collectives {
namespace {

/// Messages of everybody to everybody, or of one to all: with more members than were measured they
/// fall behind trees.
bool grows_with_members(const collective_choice& choice) {
    return follows_schedule(choice.way) &&
           (choice.schedule.algorithm == schedule_algorithm::flat ||
            choice.schedule.algorithm == schedule_algorithm::pairwise);
}

/// A prediction is for all blocks between two sizes: this one, and four times as many, and so on.
constexpr std::size_t smallest_class = 8;

std::size_t size_class(std::size_t bytes) {
    std::size_t most = smallest_class;
    while (most < bytes && most <= SIZE_MAX / 4) most *= 4;
    return std::max(most, bytes);
}

/// Whether there is a block of each member, and not one vector.
bool has_block_of_each(collective_kind what) {
    using enum collective_kind;
    switch (what) {
        case gather:
        case all_gather:
        case scatter:
        case reduce_scatter:
        case exchange: return true;
        default: return false;
    }
}

/// Whether a search has measured no longer blocks than these because there are none: 1 MiB, or what
/// makes 8 MiB of all members.
bool is_longest_of(const tuning_row& row) {
    constexpr std::size_t most = std::size_t{1} << 20;
    constexpr std::size_t most_of_all = std::size_t{8} << 20;
    const std::size_t blocks = has_block_of_each(row.what) ? row.members : 1;
    return row.bytes >= most || 4 * row.bytes > most_of_all / blocks;
}

/// Whether what was measured says something of blocks of `bytes`: a search that had little time has
/// left out sizes between, or all that are longer.
bool is_near(const tuning_row& row, std::size_t bytes) {
    constexpr std::size_t shorter = 16;
    constexpr std::size_t longer = 4;
    if (bytes > row.bytes) return is_longest_of(row) || bytes <= longer * row.bytes;
    return row.bytes / shorter <= std::max(bytes, smallest_class);
}

/// Schedules of all members are played.
bool is_small(const team_members& members) {
    constexpr std::uint32_t most = 64;
    return members.count() <= most;
}

}  // namespace

team_tuning::team_tuning(const tuning_table* table, const team_members& members)
    : members_(members) {
    look_up(table);
}

void team_tuning::look_up(const tuning_table* table) {
    const team_members& members = members_;
    const detail::rank_context& context = members.context();
    const machine_description& host = context.host->description();
    shape_ = {.members = members.count(),
              .processors = std::min(members.groups(), std::max(context.processors, 1u)),
              .share_processors = members.groups() != members.count() || members.share_processors(),
              .is_one_process = host.processes == 1};
    if (members.has_levels()) shape_.nodes = &members.nodes();
    const bool is_known = members.are_mapped() || (members.has_levels() && is_small(members));
    if (host.capabilities.real_time && is_known && members.count() > 1) {
        costs_ = &built_in_costs(tuning_machine(host));
    }
    if (table == nullptr) return;
    for (std::size_t what = 0; what < collective_kinds; ++what) {
        rows_[what] = table->rows(static_cast<collective_kind>(what), members.count());
    }
}

const tuning_row* team_tuning::row_of(collective_kind what, std::size_t bytes) {
    const tuning_row* const measured = measured_row(what, bytes);
    if (costs_ == nullptr || (measured != nullptr && is_near(*measured, bytes))) return measured;
    return row_from_model(what, bytes);
}

/// Calls that follow each other are mostly alike.
const tuning_row* team_tuning::row_from_model(collective_kind what, std::size_t bytes) {
    const tuning_row*& latest = latest_[static_cast<std::size_t>(what)];
    const bool is_same_class = latest != nullptr && bytes <= latest->bytes &&
                               (bytes > latest->bytes / 4 || latest->bytes == smallest_class);
    if (!is_same_class) latest = &predicted_row(what, size_class(bytes));
    return latest;
}

const tuning_row* team_tuning::measured_row(collective_kind what, std::size_t bytes) const {
    const auto& rows = rows_[static_cast<std::size_t>(what)];
    for (const tuning_row& row : rows) {
        if (bytes <= row.bytes) return &row;
    }
    return rows.empty() ? nullptr : &rows.back();
}

/// @param bytes one of the size classes.
const tuning_row& team_tuning::predicted_row(collective_kind what, std::size_t bytes) {
    std::list<tuning_row>& known = predicted_[static_cast<std::size_t>(what)];
    const auto found = std::ranges::find(known, bytes, &tuning_row::bytes);
    if (found != known.end()) return *found;
    tuning_row& made = known.emplace_back(what, members_.count(), bytes);
    made.is_predicted = true;
    for (const collective_choice& one : ways_to_predict({what, bytes}, shape_)) {
        if (!keeps_association(what, one, members_.count())) continue;
        made.candidates.push_back({one, predicted_ns(*costs_, shape_, {what, bytes}, one), true});
    }
    std::ranges::stable_sort(made.candidates, {}, &tuning_candidate::ns);
    return made;
}

bool team_tuning::is_for(const tuning_row& row, const tuning_candidate& candidate) const {
    const bool is_in_order = candidate.keeps_association &&
                             (row.members == members_.count() ||
                              keeps_association(row.what, candidate.choice, members_.count()));
    return is_in_order &&
           (row.members == members_.count() || !grows_with_members(candidate.choice));
}

/// Between processes what goes over lines and is longer than a line is copied into the heap, of
/// which the table knows nothing. The same at all members.
bool team_tuning::has_room(const collective_choice& choice, const detail::block_call& call) const {
    constexpr std::uint64_t part_of_heap = 16;
    if (choice.way != collective_way::lines || shape_.is_one_process) return true;
    const std::uint64_t most = members_.context().reserve_bytes / part_of_heap;
    const std::uint64_t blocks = has_block_of_each(call.what) ? members_.count() : 1;
    return call.block_bytes() <= line_payload || call.block_bytes() <= most / blocks;
}

const collective_choice* team_tuning::find(const detail::block_call& call) {
    if (call.most != 0) return nullptr;  // blocks that differ in length are not measured
    const tuning_row* const row = row_of(call.what, call.block_bytes());
    if (row == nullptr) return nullptr;
    for (const tuning_candidate& candidate : row->candidates) {
        if (is_for(*row, candidate) && is_possible(candidate.choice.way, members_, call) &&
            has_room(candidate.choice, call)) {
            return &candidate.choice;
        }
    }
    return nullptr;
}

}  // namespace selion::collectives
