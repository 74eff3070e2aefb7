// SPDX-License-Identifier: Apache-2.0
#include "machine/wait_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "machine/rank_list.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine {
namespace {

/// A consistent-enough copy of a record that its rank may be changing.
struct seen_call {
    operation what;
    std::uint64_t instance;
    std::uint32_t team_size;
    bool is_inside;
    bool is_waiting;
    bool has_finished;
};

seen_call call_of(const call_record& record) {
    const bool is_inside = look_at(record.entries) % 2 == 1;
    return {static_cast<operation>(look_at(record.what)),
            look_at(record.instance),
            look_at(record.team_size),
            is_inside,
            is_inside && look_at(record.is_waiting) != 0,
            look_at(record.has_finished) != 0};
}

/// A collective of all ranks: its number, what it is, where it is called, and what else is known of
/// the wait in it.
using collective_call = std::tuple<std::uint64_t, operation, std::string, std::string>;

constexpr std::size_t most_lines = 64;  ///< of a kind

/// What others do in a collective of that number which is another one; empty: nothing.
std::string disagreement_text(const observed_job& job, operation what, std::uint64_t instance) {
    std::map<operation, std::vector<std::uint32_t>> others;
    for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
        const seen_call call = call_of(job.record(rank));
        const bool is_there = call.is_inside && is_collective(call.what) && call.team_size == 0;
        if (is_there && call.instance == instance && !are_of_one_kind(call.what, what))
            others[call.what].push_back(rank);
    }
    std::vector<std::string> parts;
    for (const auto& [other, ranks] : others) {
        parts.push_back(fmt::format("{} {} in {}", ranks_text(ranks),
                                    ranks.size() == 1 ? "is" : "are", name_of(other)));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

/// What is said of one rank, of several.
std::string said_of(std::size_t ranks, std::string activity) {
    if (ranks == 1) return activity;
    using words = std::pair<std::string_view, std::string_view>;
    for (const auto& [one, several] : {words{"its function has", "their functions have"},
                                       {"in its own code", "in their own code"},
                                       {"before its first", "before their first"}}) {
        if (activity.starts_with(one)) return activity.replace(0, one.size(), several);
    }
    return activity;
}

/// Whether a rank's own code runs, which may be in a call that waits now and then.
bool has_turn(const observed_job& job, std::uint32_t rank) {
    const std::optional<turn_of_rank> turn = job.turn();
    return turn && turn->rank == rank && !turn->is_in_handler;
}

/// What the ranks do of which `which` holds, a line for each that several may do.
template <class Which>
std::string activities_text(const observed_job& job, std::string_view label, const Which& which) {
    std::map<std::string, std::vector<std::uint32_t>> by_activity;
    for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
        if (!which(rank, call_of(job.record(rank)))) continue;
        const std::string activity =
            has_turn(job, rank) ? "it has the processor" : last_call_text(job.record(rank));
        by_activity[activity].push_back(rank);
    }
    std::string text;
    std::size_t shown = 0;
    for (const auto& [activity, ranks] : by_activity) {
        if (++shown > most_lines) {
            return fmt::format("{}\n    and {} more such", text, by_activity.size() - most_lines);
        }
        text += fmt::format("\n    {}: {}: {}", label, ranks_text(ranks),
                            said_of(ranks.size(), activity));
    }
    return text;
}

/// Why ranks wait though all have begun as many collectives.
std::string nobody_text(const observed_job& job, operation what, std::uint64_t instance) {
    const std::string others = disagreement_text(job, what, instance);
    if (!others.empty()) {
        return fmt::format("\n    absent: nobody, but the ranks disagree: as #{} {}", instance,
                           others);
    }
    if (job.is_in_deadlock()) return "\n    absent: nobody";
    const auto may_run = [&](std::uint32_t rank, const seen_call& call) {
        return !call.is_waiting && !call.has_finished && !has_turn(job, rank);
    };
    const std::string doubt =
        job.compares_calls() ? "" : fmt::format(", unless the ranks {}", disagreement_hint);
    if (job.turn()) {
        return "\n    absent: nobody; who waits goes on once its turn comes" +
               activities_text(job, "ready", may_run);
    }
    return fmt::format("\n    absent: nobody; who waits goes on once its thread is free{}{}", doubt,
                       activities_text(job, "running", may_run));
}

/// What the ranks do that others wait for in a collective.
std::string absentees_text(const observed_job& job, operation what, std::uint64_t instance) {
    const std::string text =
        activities_text(job, "absent", [&](std::uint32_t rank, const seen_call&) {
            return is_absent(job.record(rank), what, instance);
        });
    return text.empty() ? nobody_text(job, what, instance) : text;
}

/// The signal that a call looks for: " for a signal of at least 3; it is 1"; empty: it looks for
/// none.
std::string signal_text(const observed_job& job, std::uint32_t rank, const call_record& record) {
    const auto what = static_cast<operation>(look_at(record.what));
    const bool is_one_of_several = what == operation::wait_any_signal;
    if (what != operation::wait_signal && what != operation::test_signal && !is_one_of_several) {
        return {};
    }
    const std::span<const std::byte> memory = job.memory(rank);
    const std::uint64_t offset = look_at(record.signal_offset);
    // What is read of a rank that runs may be of two calls.
    const bool is_there = offset <= memory.size() - sizeof(detail::shared_word) &&
                          offset % alignof(detail::shared_word) == 0;
    if (!is_there) return {};
    const auto& word = *reinterpret_cast<const detail::shared_word*>(memory.data() + offset);
    return fmt::format(" for {} of at least {}; it is {}",
                       is_one_of_several ? "one of several signals, the first" : "a signal",
                       look_at(record.at_least), detail::word_load(word));
}

/// What is told alike of several ranks, in the order of the first ones.
class lines_of_ranks {
public:
    void add(std::uint32_t rank, std::string text) {
        const auto [place, is_new] = places_.try_emplace(std::move(text), lines_.size());
        if (is_new) lines_.push_back({place->first, {}});
        lines_[place->second].ranks.push_back(rank);
    }

    /// @param one, several what stands between the ranks and the text.
    std::string text(std::string_view one, std::string_view several) const {
        std::string all;
        std::size_t left_out = 0;
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            const line& each = lines_[i];
            if (i >= most_lines) {
                left_out += each.ranks.size();
                continue;
            }
            all += fmt::format("\n  {} {}{}", ranks_text(each.ranks),
                               each.ranks.size() == 1 ? one : several,
                               said_of(each.ranks.size(), each.text));
        }
        if (left_out != 0) all += fmt::format("\n  {} more {}...", left_out, several);
        return all;
    }

private:
    struct line {
        std::string text;
        std::vector<std::uint32_t> ranks;
    };
    std::map<std::string, std::size_t> places_;
    std::vector<line> lines_;
};

/// What a rank's completion handler waits for on a thread of its own; empty: none waits.
std::string handler_text(const observed_job& job, std::uint32_t rank) {
    const call_record* const record = job.record_beside(rank);
    if (record == nullptr || !call_of(*record).is_waiting) return {};
    return fmt::format("\n  a completion handler of rank {} waits {}{}", rank, wait_text(*record),
                       signal_text(job, rank, *record));
}

/// Those who wait in one call of all ranks, and for whom.
std::string collective_text(const observed_job& job, const collective_call& call,
                            const std::vector<std::uint32_t>& ranks) {
    const auto& [instance, what, site, more] = call;
    const std::string number =
        has_shown_number(what) ? fmt::format(" #{}", instance) : std::string();
    // A script's function has returned to the library, at no place of the script.
    const bool has_place = what != operation::end_of_run || site != site_text(std::uint64_t{0});
    const std::string where =
        has_place ? " at " + site : ": " + said_of(ranks.size(), "its function has returned");
    return fmt::format("\n  {} {} in {}{}{}{}{}", ranks_text(ranks),
                       ranks.size() == 1 ? "waits" : "wait", name_of(what), number, where, more,
                       absentees_text(job, what, instance));
}

/// The last call of a rank that does not wait, which may be some time ago.
std::string known_call_text(const observed_job& job, std::uint32_t rank) {
    const call_record& record = job.record(rank);
    const seen_call call = call_of(record);
    const bool has_called = call.what != operation::none && !call.has_finished;
    if (!has_called) return last_call_text(record);
    return "last known call: " + noted_call_text(record) + signal_text(job, rank, record);
}

/// Who has the processor, where all ranks share one; else empty.
std::string turn_text(const observed_job& job) {
    const std::optional<turn_of_rank> turn = job.turn();
    if (!turn) return {};
    if (!turn->rank) return "\n  handlers of messages have the processor";
    const std::uint32_t rank = *turn->rank;
    if (turn->is_in_handler) return fmt::format("\n  a handler of rank {} has the processor", rank);
    return fmt::format("\n  rank {} has the processor; {}", rank, known_call_text(job, rank));
}

/// What is known of ranks that do not wait.
/// @param includes_all or only those who look for a signal: of others something is told already.
std::string last_calls_text(const observed_job& job, bool includes_all) {
    lines_of_ranks lines;
    for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
        const call_record& record = job.record(rank);
        const seen_call call = call_of(record);
        const bool looks = call.what == operation::test_signal && !call.has_finished;
        if (call.is_waiting || has_turn(job, rank) || !(includes_all || looks)) continue;
        lines.add(rank, known_call_text(job, rank));
    }
    return lines.text("does not wait; ", "do not wait; ");
}

}  // namespace

std::string explain_waits(const observed_job& job) {
    std::map<collective_call, std::vector<std::uint32_t>> collectives;
    lines_of_ranks others;
    std::string handlers;
    for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
        const call_record& record = job.record(rank);
        const seen_call call = call_of(record);
        handlers += handler_text(job, rank);
        if (!call.is_waiting || has_turn(job, rank)) continue;
        if (is_collective(call.what) && call.team_size == 0) {
            collectives[{call.instance, call.what, site_text(record), job.more_of(rank)}].push_back(
                rank);
        } else {
            others.add(rank,
                       wait_text(record) + signal_text(job, rank, record) + job.more_of(rank));
        }
    }
    std::string text = turn_text(job);
    std::size_t shown = 0;
    for (const auto& [call, ranks] : collectives) {
        if (++shown <= most_lines) text += collective_text(job, call, ranks);
    }
    if (shown > most_lines) text += fmt::format("\n  and {} more such", shown - most_lines);
    return text + others.text("waits ", "wait ") + handlers +
           last_calls_text(job, collectives.empty());
}

}  // namespace selion::machine
