// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_check.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <span>

#include "machine/call_record.hpp"
#include "machine/machine.hpp"

namespace selion::collectives {
std::string text_of(const call_signature& call) {
    const auto what = static_cast<machine::operation>(call.what);
    std::string text(name_of(what));
    if (call.count == varying_count) {
        text += "v";
    } else if (what == machine::operation::broadcast) {
        text += fmt::format(" of {} bytes", call.count);
    } else if (call.element_bytes != 0) {
        text += fmt::format(" of {} element{} of {} bytes", call.count, call.count == 1 ? "" : "s",
                            call.element_bytes);
    }
    const bool gives = what == machine::operation::broadcast || what == machine::operation::scatter;
    if (call.root != no_root) text += fmt::format(" {} root {}", gives ? "from" : "at", call.root);
    return text + " at " + machine::site_text(call.site);
}

/// What another member is about to do: the first that has come to this, or member 0.
call_book::entry team_check::first(const call_book::entry& mine) {
    if (context_.calls != nullptr) {
        return context_.calls->note({members_.name(), calls_}, mine, members_.count());
    }
    call_book::entry first{0, mine.call};
    if (!members_.are_mapped()) {
        messages_.broadcast(std::as_writable_bytes(std::span(&first.call, 1)), 0);
        return first;
    }
    const std::size_t set = calls_ % slot_sets;
    members_.block(members_.own()).signatures[set] = mine.call;
    meeting_.synchronise(machine::wait_reason::collective);
    first.call = members_.block(0).signatures[set];
    return first;
}

void team_check::compare(const call_signature& mine) {
    ++calls_;
    const auto [other, theirs] = first({members_.own(), mine});
    if (mine.agrees_with(theirs)) return;
    const bool is_everybody = members_.name() == 0;
    const bool is_same_call = mine.what == theirs.what;
    context_.host->launcher().end_job(
        context_,
        fmt::format("the ranks disagree about collective #{}{}: rank {} calls {}, rank "
                    "{} calls {}{}",
                    is_everybody ? machine::look_at(context_.call->instance) : calls_,
                    is_everybody ? "" : fmt::format(" of a team of {}", members_.count()),
                    context_.rank, text_of(mine), members_.world_rank(other), text_of(theirs),
                    is_same_call && mine.type_hash != theirs.type_hash
                        ? "; types or operations differ"
                        : ""));
}

void end_for_other_start(detail::rank_context& context, const collective_name& name,
                         std::uint32_t members, const call_signature& mine, std::uint32_t other,
                         const call_signature& theirs) {
    context.host->launcher().end_job(
        context, fmt::format("the ranks disagree about started collective #{} of {}: rank {} "
                             "starts {}, rank {} starts {}",
                             name.number,
                             name.team == 0 ? std::string("all ranks")
                                            : fmt::format("a team of {}", members),
                             context.rank, text_of(mine), other, text_of(theirs)));
}

void team_check::compare_started(const collective_name& name, const call_signature& mine) {
    if (context_.calls == nullptr) return;
    constexpr std::uint64_t is_started = std::uint64_t{1} << 63;  // numbers of their own
    const auto [other, theirs] = context_.calls->note({name.team, name.number | is_started},
                                                      {members_.own(), mine}, members_.count());
    if (mine.agrees_with(theirs)) return;
    end_for_other_start(context_, name, members_.count(), mine, members_.world_rank(other), theirs);
}

}  // namespace selion::collectives
