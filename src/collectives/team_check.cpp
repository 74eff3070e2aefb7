// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <span>
#include <string_view>

#include "machine/call_record.hpp"
#include "machine/machine.hpp"
#include "selion/detail/hash.hpp"

namespace selion::collectives {
namespace {

/// In the first letter: a second one follows. Whether a script has called may differ from rank to
/// rank, so member 0's word counts.
constexpr std::uint32_t has_script = std::uint32_t{1} << 31;

std::string_view name_of(sync_mode mode) {
    if (mode == sync_mode::none) return "none";
    return mode == sync_mode::mine ? "mine" : "all";
}

/// "entry all, exit mine".
std::string modes_text(std::uint16_t modes) {
    const auto entry = static_cast<sync_mode>(modes >> modes_bits);
    const auto exit = static_cast<sync_mode>(modes & ((1u << modes_bits) - 1));
    return fmt::format("entry {}, exit {}", name_of(entry), name_of(exit));
}

/// In a site that is a line of a script: 2 bits that say so, 30 for the file, 32 for the line. In
/// other sites these 2 bits are alike.
constexpr std::uint64_t is_script_line = std::uint64_t{1} << 63;
constexpr std::uint64_t is_no_site = std::uint64_t{3} << 62;
constexpr std::uint64_t line_mask = UINT32_MAX;

void write_script(placed_call& call, std::string place) {
    constexpr std::size_t most = sizeof call.script - 1;
    if (place.size() > most) place = "..." + std::string(machine::end_of(place, most - 3));
    std::ranges::copy(place, call.script);
}

/// "1 byte", "2 bytes".
std::string counted(std::uint64_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// "gather of 3 elements of 8 bytes"; what a composed call moves by the way is nobody's business.
std::string name_and_data(const call_signature& call) {
    if (call.whole != 0) return std::string(name_of(static_cast<machine::operation>(call.whole)));
    const auto what = static_cast<machine::operation>(call.what);
    const std::string name(name_of(what));
    if (call.count == varying_count) return name + "v";
    if (what == machine::operation::deallocate) {
        return fmt::format("{} of what starts at offset {}", name, call.count);
    }
    if (what == machine::operation::broadcast) {
        const std::uint64_t bytes = call.count * std::max<std::uint64_t>(call.element_bytes, 1);
        return name + " of " + counted(bytes, "byte");
    }
    if (call.element_bytes == 0) return name;
    return fmt::format("{} of {} of {}", name, counted(call.count, "element"),
                       counted(call.element_bytes, "byte"));
}

/// What the descriptions of two calls do not tell.
std::string hidden_difference(const call_signature& one, const call_signature& other) {
    if (one.what != other.what || one.whole != other.whole) return {};
    if (!one.has_type_of(other)) return "; types or operations differ";
    if (one.modes == other.modes) return {};
    return fmt::format("; their modes differ: {}; {}", modes_text(one.modes),
                       modes_text(other.modes));
}

}  // namespace

placed_call placed_start(const detail::rank_context& caller, const call_signature& call) {
    placed_call made = placed(caller, call);
    if (made.script[0] == 0 || machine::is_in_program(call.site)) return made;
    const std::string place = machine::script_place(*caller.call);
    const std::size_t colon = std::min(place.rfind(':'), place.size() - 1);
    std::uint64_t line = 0;
    std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
    const std::uint64_t file = detail::text_hash(std::string_view(place).substr(0, colon));
    made.call.site = is_script_line | file >> 34 << 32 | (line & line_mask);
    return made;
}

placed_call told_by_message(const call_signature& theirs, const placed_call& mine) {
    placed_call made{.call = theirs, .number = 0, .script = {}};
    if ((theirs.site & is_no_site) != is_script_line) return made;
    const std::uint64_t line = theirs.site & line_mask;
    const std::string_view own(mine.script);
    const bool is_same_file = (mine.call.site & ~line_mask) == (theirs.site & ~line_mask);
    write_script(made, is_same_file ? fmt::format("{}:{}", own.substr(0, own.rfind(':')), line)
                                    : fmt::format("line {} of another file", line));
    return made;
}

placed_call placed(const detail::rank_context& caller, const call_signature& call) {
    placed_call made{.call = call, .number = 0, .script = {}};
    if (caller.is_foreign_thread) return made;
    write_script(made, machine::script_place(*caller.call));
    return made;
}

std::string text_of(const placed_call& placed) {
    const call_signature& call = placed.call;
    const auto what = static_cast<machine::operation>(call.what);
    std::string text = name_and_data(call);
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
                         std::uint32_t members, const start_of_rank& one,
                         const start_of_rank& other) {
    context.host->launcher().end_job(
        context, fmt::format("the ranks disagree about started collective #{} of {}: rank {} "
                             "starts {}, rank {} starts {}{}",
                             name.number,
                             name.team == 0 ? std::string("all ranks")
                                            : fmt::format("a team of {}", members),
                             one.rank, text_of(one.call), other.rank, text_of(other.call),
                             hidden_difference(one.call.call, other.call.call)));
}

void team_check::compare_started(const collective_name& name, const placed_call& mine) {
    if (context_.calls == nullptr) return;
    constexpr std::uint64_t is_started = std::uint64_t{1} << 63;  // numbers of their own
    const auto [other, theirs] = context_.calls->note({name.team, name.number | is_started},
                                                      {members_.own(), mine}, members_.count());
    if (mine.call.agrees_with(theirs.call)) return;
    end_for_other_start(context_, name, members_.count(), {context_.rank, mine},
                        {members_.world_rank(other), theirs});
}

}  // namespace selion::collectives
