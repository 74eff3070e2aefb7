// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "machine/call_record.hpp"
#include "machine/machine.hpp"

namespace selion::collectives {
namespace {

/// The end of the place is what tells it: folders in front of it may be left out.
placed_call placed(const detail::rank_context& context, const call_signature& call) {
    placed_call made{.call = call, .script = {}};
    constexpr std::size_t most = sizeof made.script - 1;
    std::string place = machine::script_place(*context.call);
    if (place.size() > most) place.replace(0, place.size() - most + 3, "...");
    std::ranges::copy(place, made.script);
    return made;
}

}  // namespace

std::string text_of(const call_signature& call) { return text_of(placed_call{call, {}}); }

std::string text_of(const placed_call& placed) {
    const call_signature& call = placed.call;
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
    const bool is_of_script = placed.script[0] != 0 && !machine::is_in_program(call.site);
    return text + " at " + (is_of_script ? placed.script : machine::site_text(call.site));
}

/// What another member is about to do: the first that has come to this, or member 0.
call_book::entry team_check::first(const placed_call& mine) {
    if (context_.calls != nullptr) {
        return context_.calls->note({members_.name(), calls_}, {members_.own(), mine},
                                    members_.count());
    }
    call_book::entry first{0, mine};
    if (!members_.are_mapped()) {
        placed_call& call = first.call;  // in letters, one of which no C++ program has
        messages_.broadcast(std::as_writable_bytes(std::span(&call.call, 1)), 0);
        if (mine.script[0] != 0)
            messages_.broadcast(std::as_writable_bytes(std::span(call.script)), 0);
        return first;
    }
    const std::size_t set = calls_ % slot_sets;
    members_.block(members_.own()).calls[set] = mine;
    meeting_.synchronise(machine::wait_reason::collective);
    first.call = members_.block(0).calls[set];
    return first;
}

void team_check::compare(const call_signature& mine) {
    ++calls_;
    const placed_call own = placed(context_, mine);
    const auto [other, theirs] = first(own);
    if (mine.agrees_with(theirs.call)) return;
    const bool is_everybody = members_.name() == 0;
    const bool is_same_call = mine.what == theirs.call.what;
    context_.host->launcher().end_job(
        context_,
        fmt::format("the ranks disagree about collective #{}{}: rank {} calls {}, rank "
                    "{} calls {}{}",
                    is_everybody ? machine::look_at(context_.call->instance) : calls_,
                    is_everybody ? "" : fmt::format(" of a team of {}", members_.count()),
                    context_.rank, text_of(own), members_.world_rank(other), text_of(theirs),
                    is_same_call && mine.type_hash != theirs.call.type_hash
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
    const auto [other, theirs] =
        context_.calls->note({name.team, name.number | is_started},
                             {members_.own(), placed(context_, mine)}, members_.count());
    if (mine.agrees_with(theirs.call)) return;
    end_for_other_start(context_, name, members_.count(), mine, members_.world_rank(other),
                        theirs.call);
}

}  // namespace selion::collectives
