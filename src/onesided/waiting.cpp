// SPDX-License-Identifier: Apache-2.0
#include "onesided/waiting.hpp"

#include <fmt/format.h>

#include <vector>

#include "machine/rank_list.hpp"
#include "selion/error.hpp"

namespace selion::detail {

namespace {

/// Whom a collective of all ranks lacks, where the records of all can be read; empty: nobody, or it
/// is not known.
std::string absentees_text(const rank_context& caller) {
    const machine::call_record& own = *caller.call;
    const auto what = static_cast<machine::operation>(machine::look_at(own.what));
    const bool is_of_all = machine::is_collective(what) && machine::look_at(own.team_size) == 0;
    if (!is_of_all || caller.sharer_count != caller.ranks) return {};
    std::vector<std::uint32_t> absent;
    for (std::uint32_t rank = 0; rank < caller.ranks; ++rank) {
        const machine::call_record& other = caller.sharers[rank];
        // Who has returned has begun one more, in which it waits for all.
        const std::uint64_t at_end = machine::look_at(other.has_finished) != 0 ? 1 : 0;
        const std::uint64_t begun = machine::look_at(other.instance) - at_end;
        if (begun < machine::look_at(own.instance)) absent.push_back(rank);
    }
    if (absent.empty()) return {};
    const std::string who = "; absent: " + machine::ranks_text(absent);
    if (absent.size() > 1) return who;
    return who + ", " + machine::last_call_text(caller.sharers[absent.front()]);
}

}  // namespace

void end_collective_wait(const rank_context& caller) {
    throw error(
        status::timed_out,
        fmt::format("rank {} has waited too long {}, which was to end within {:g} s{}", caller.rank,
                    machine::last_call_text(*caller.call),
                    static_cast<double>(caller.own.timeout_ns) / 1e9, absentees_text(caller)),
        {.rank = caller.rank,
         .peer = {},
         .operation = std::string(
             name_of(static_cast<machine::operation>(machine::look_at(caller.call->what)))),
         .bytes = {}});
}

}  // namespace selion::detail
