// SPDX-License-Identifier: Apache-2.0
#include "machine/node/hang_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "machine/rank_list.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::node {
namespace {

/// A consistent-enough copy of a record that its rank may be changing.
struct rank_state {
    operation what;
    std::string site;
    std::uint64_t instance;
    std::uint32_t team_size;
    std::uint64_t word_offset;
    std::uint64_t at_least;
    bool is_inside;
    bool is_waiting;
    bool has_finished;
};

rank_state state_of(const call_record& record) {
    return {static_cast<operation>(look_at(record.what)),
            site_text(record),
            look_at(record.instance),
            look_at(record.team_size),
            look_at(record.word_offset),
            look_at(record.at_least),
            look_at(record.entries) % 2 == 1,
            look_at(record.is_waiting) != 0,
            look_at(record.has_finished) != 0};
}

/// Whether others wait for a rank in a collective: it has not begun it, or has returned.
bool is_absent(const rank_state& state, operation what, std::uint64_t instance) {
    const bool is_at_end = what == operation::end_of_run;
    return state.instance < instance || state.has_finished != is_at_end;
}

/// What others do in a collective of that number which is another one; empty: nothing.
std::string disagreement_text(const shared_mapping& mapping, operation what,
                              std::uint64_t instance) {
    std::map<operation, std::vector<std::uint32_t>> others;
    for (std::uint32_t rank = 0; rank < mapping.control().ranks; ++rank) {
        const rank_state state = state_of(mapping.record(rank));
        const bool is_there = state.is_inside && is_collective(state.what) && state.team_size == 0;
        if (is_there && state.instance == instance && !are_of_one_kind(state.what, what))
            others[state.what].push_back(rank);
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

/// What the ranks do of which `which` holds, a line for each that several may do.
template <class Which>
std::string activities_text(const shared_mapping& mapping, std::string_view label,
                            const Which& which) {
    std::map<std::string, std::vector<std::uint32_t>> by_activity;
    for (std::uint32_t rank = 0; rank < mapping.control().ranks; ++rank) {
        if (!which(state_of(mapping.record(rank)))) continue;
        by_activity[last_call_text(mapping.record(rank))].push_back(rank);
    }
    std::string text;
    for (const auto& [activity, ranks] : by_activity) {
        text += fmt::format("\n    {}: {}: {}", label, ranks_text(ranks),
                            said_of(ranks.size(), activity));
    }
    return text;
}

/// Why ranks wait though all have begun as many collectives.
std::string nobody_text(const shared_mapping& mapping, operation what, std::uint64_t instance,
                        bool compares_calls) {
    const std::string others = disagreement_text(mapping, what, instance);
    if (!others.empty()) {
        return fmt::format("\n    absent: nobody, but the ranks disagree: as #{} {}", instance,
                           others);
    }
    const auto is_running = [](const rank_state& state) {
        return !(state.is_inside && state.is_waiting) && !state.has_finished;
    };
    const std::string_view doubt =
        compares_calls ? ""
                       : ", unless the ranks disagree in kind, size, root, type or modes "
                         "(SELION_CHECK_CALLS=on tells most of that at the call)";
    return fmt::format("\n    absent: nobody; who waits goes on once its thread is free{}{}", doubt,
                       activities_text(mapping, "running", is_running));
}

/// What the ranks do that others wait for in a collective.
std::string absentees_text(const shared_mapping& mapping, operation what, std::uint64_t instance,
                           bool compares_calls) {
    const std::string text = activities_text(mapping, "absent", [&](const rank_state& state) {
        return is_absent(state, what, instance);
    });
    return text.empty() ? nobody_text(mapping, what, instance, compares_calls) : text;
}

/// What somebody waits for in a call that is no collective of all ranks.
std::string wait_text(const shared_mapping& mapping, std::string_view who,
                      const call_record& record) {
    const rank_state state = state_of(record);
    // What is read of a rank that runs may be of two waits.
    const bool is_there =
        state.word_offset <= mapping.control().total_bytes - sizeof(detail::shared_word) &&
        state.word_offset % alignof(detail::shared_word) == 0;
    if (state.what != operation::wait_signal || !is_there) {
        return fmt::format("\n  {} waits {}", who, last_call_text(record));
    }
    const auto& word =
        *reinterpret_cast<const detail::shared_word*>(mapping.start() + state.word_offset);
    return fmt::format("\n  {} waits in wait_until at {} for a signal of at least {}; it is {}",
                       who, state.site, state.at_least, detail::word_load(word));
}

/// The same of the rank's completion handler on a thread of its own; empty: none waits.
std::string handler_text(const shared_mapping& mapping, std::uint32_t rank) {
    const call_record* const record = mapping.record_beside(rank);
    if (record == nullptr) return {};
    const rank_state state = state_of(*record);
    if (!state.is_inside || !state.is_waiting) return {};
    return wait_text(mapping, fmt::format("a completion handler of rank {}", rank), *record);
}

}  // namespace

std::string explain_waits(const shared_mapping& mapping, bool compares_calls) {
    std::map<std::tuple<std::uint64_t, operation, std::string>, std::vector<std::uint32_t>> groups;
    std::string others;
    for (std::uint32_t rank = 0; rank < mapping.control().ranks; ++rank) {
        const call_record& record = mapping.record(rank);
        const rank_state state = state_of(record);
        if (state.is_inside && state.is_waiting) {
            if (is_collective(state.what) && state.team_size == 0) {
                groups[{state.instance, state.what, state.site}].push_back(rank);
            } else {
                others += wait_text(mapping, fmt::format("rank {}", rank), record);
            }
        }
        others += handler_text(mapping, rank);
    }
    std::string text;
    for (const auto& [call, ranks] : groups) {
        const auto& [instance, what, site] = call;
        const std::string number =
            has_shown_number(what) ? fmt::format(" #{}", instance) : std::string();
        text += fmt::format("\n  {} {} in {}{} at {}", ranks_text(ranks),
                            ranks.size() == 1 ? "waits" : "wait", name_of(what), number, site);
        text += absentees_text(mapping, what, instance, compares_calls);
    }
    text += others;
    return text.empty() ? "\n  no rank waits" : text;
}

std::int64_t watched_time::at(std::int64_t now_ns) {
    constexpr std::int64_t longest_step_ns = 1'000'000'000;  // between looks: a quarter of that
    if (last_ns_ != 0) time_ns_ += std::min(now_ns - last_ns_, longest_step_ns);
    last_ns_ = now_ns;
    return time_ns_;
}

hang_watch::hang_watch(const shared_mapping& mapping, std::int64_t timeout_ns)
    : mapping_(mapping), timeout_ns_(timeout_ns), seen_(mapping.control().ranks) {}

bool hang_watch::sample(std::int64_t now_ns) {
    if (timeout_ns_ == 0) return false;
    now_ns = time_.at(now_ns);
    bool is_news = false;
    for (std::uint32_t rank = 0; rank < seen_.size(); ++rank) {
        const call_record& record = mapping_.record(rank);
        const std::uint64_t entries = look_at(record.entries);
        observation& seen = seen_[rank];
        const bool is_waiting = entries % 2 == 1 && look_at(record.is_waiting) != 0;
        if (entries != seen.entries || !is_waiting || seen.since_ns == 0) {
            seen = {entries, now_ns, false};
        } else if (!seen.was_reported && now_ns - seen.since_ns >= timeout_ns_) {
            is_news = true;
        }
    }
    if (is_news) {
        for (observation& seen : seen_) seen.was_reported = true;
    }
    return is_news;
}

}  // namespace selion::machine::node
