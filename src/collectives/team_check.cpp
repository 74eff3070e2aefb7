// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "machine/call_record.hpp"
#include "machine/machine.hpp"

namespace selion::collectives {
namespace {

/// In the first letter: a second one follows. Whether a script has called may differ from rank to
/// rank, so member 0's word counts.
constexpr std::uint64_t has_script = std::uint64_t{1} << 63;

/// What the descriptions of two calls do not tell.
std::string_view hidden_difference(const call_signature& one, const call_signature& other) {
    const bool types_differ = one.what == other.what && one.type_hash != other.type_hash;
    return types_differ ? "; types or operations differ" : "";
}

}  // namespace

placed_call placed(const detail::rank_context& caller, const call_signature& call) {
    placed_call made{.call = call, .number = 0, .script = {}};
    if (caller.is_foreign_thread) return made;
    std::string place = machine::script_place(*caller.call);
    constexpr std::size_t most = sizeof made.script - 1;
    if (place.size() > most) place = "..." + std::string(machine::end_of(place, most - 3));
    std::ranges::copy(place, made.script);
    return made;
}

std::string text_of(const call_signature& call) { return text_of(placed_call{call, 0, {}}); }

std::string text_of(const placed_call& placed) {
    const call_signature& call = placed.call;
    const auto what = static_cast<machine::operation>(call.what);
    std::string text(name_of(what));
    if (call.count == varying_count) {
        text += "v";
    } else if (what == machine::operation::deallocate) {
        text += fmt::format(" of what starts at offset {}", call.count);
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
        placed_call& call = first.call;
        if (mine.script[0] != 0) call.call.what |= has_script;
        messages_.broadcast(std::as_writable_bytes(std::span(&call.call, 1)), 0);
        if ((call.call.what & has_script) != 0) {
            messages_.broadcast(std::as_writable_bytes(std::span(call.script)), 0);
        } else {
            call.script[0] = 0;
        }
        call.call.what &= ~has_script;
        return first;
    }
    const std::size_t set = calls_ % slot_sets;
    members_.block(members_.own()).calls[set] = mine;
    meeting_.synchronise(machine::wait_reason::collective);
    first.call = members_.block(0).calls[set];
    return first;
}

void team_check::compare(placed_call mine) {
    mine.number = ++calls_;
    const auto [other, theirs] = first(mine);
    const bool is_compared = theirs.number == mine.number;
    if (is_compared && mine.call.agrees_with(theirs.call)) return;
    const bool is_everybody = members_.name() == 0;
    context_.host->launcher().end_job(
        context_,
        fmt::format("the ranks disagree about collective #{}{}: rank {} calls {}, rank "
                    "{} {}{}",
                    is_everybody ? machine::look_at(context_.call->instance) : calls_,
                    is_everybody ? "" : fmt::format(" of a team of {}", members_.count()),
                    context_.rank, text_of(mine), members_.world_rank(other),
                    is_compared ? "calls " + text_of(theirs)
                                : "something that is not compared, such as arrive() or a split",
                    is_compared ? hidden_difference(mine.call, theirs.call) : ""));
}

void end_for_other_start(detail::rank_context& context, const collective_name& name,
                         std::uint32_t members, const call_signature& mine, std::uint32_t other,
                         const call_signature& theirs) {
    context.host->launcher().end_job(
        context,
        fmt::format(
            "the ranks disagree about started collective #{} of {}: rank {} "
            "starts {}, rank {} starts {}{}",
            name.number,
            name.team == 0 ? std::string("all ranks") : fmt::format("a team of {}", members),
            context.rank, text_of(mine), other, text_of(theirs), hidden_difference(mine, theirs)));
}

void team_check::compare_started(const collective_name& name, const call_signature& mine) {
    if (context_.calls == nullptr) return;
    constexpr std::uint64_t is_started = std::uint64_t{1} << 63;  // numbers of their own
    const auto [other, theirs] = context_.calls->note(
        {name.team, name.number | is_started}, {members_.own(), {mine, 0, {}}}, members_.count());
    if (mine.agrees_with(theirs.call)) return;
    end_for_other_start(context_, name, members_.count(), mine, members_.world_rank(other),
                        theirs.call);
}

}  // namespace selion::collectives
