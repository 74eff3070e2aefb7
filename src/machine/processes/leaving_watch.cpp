// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/leaving_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "machine/call_record.hpp"
#include "machine/node/doorbell.hpp"
#include "machine/process/failure.hpp"

namespace selion::machine {

leaving_watch::leaving_watch(const node::job_setting& setting, const node::shared_mapping& mapping)
    : setting_(setting), mapping_(mapping), seen_(setting.shape.processes) {}

bool leaving_watch::sample(std::span<const child_process> children, bool are_held_up) {
    if (setting_.hang_timeout_ns == 0) return false;
    const std::int64_t now_ns = time_.at(node::steady_now_ns());
    std::vector<std::uint32_t> late;
    bool is_news = false;
    for (std::uint32_t process = 0; process < children.size(); ++process) {
        observation& seen = seen_[process];
        if (children[process].has_ended) continue;
        if (look_at(mapping_.process(process).has_finished) == 0) continue;
        if (seen.since_ns == 0 || are_held_up) seen.since_ns = now_ns;
        if (now_ns - seen.since_ns < setting_.hang_timeout_ns) continue;
        late.push_back(process);
        is_news = is_news || !seen.was_reported;
        seen.was_reported = true;
    }
    if (!is_news) return false;
    report(children, late);
    if (setting_.aborts_on_hang) announce({{}, "SELION_HANG_ACTION=abort: the job ends", {}});
    return setting_.aborts_on_hang;
}

void leaving_watch::report(std::span<const child_process> children,
                           const std::vector<std::uint32_t>& late) const {
    constexpr std::size_t most_lines = 16;
    const std::uint32_t each = setting_.shape.ranks_per_process;
    std::string lines;
    for (const std::uint32_t process : std::span(late).first(std::min(late.size(), most_lines))) {
        const std::uint32_t first = process * each;
        lines += each == 1 ? fmt::format("\n  rank {} (process {})", first, children[process].id)
                           : fmt::format("\n  ranks {}-{} (process {})", first, first + each - 1,
                                         children[process].id);
    }
    if (late.size() > most_lines) {
        lines += fmt::format("\n  and {} processes more", late.size() - most_lines);
    }
    const std::string who =
        late.size() == 1 ? "a process" : fmt::format("{} processes", late.size());
    tell(fmt::format(
        "hang: {} of {} {} not ended {:g} s after the ranks have returned; what runs as "
        "a program leaves is not over: destructors of static objects, functions of "
        "atexit, a thread that these wait for, or output that nobody reads{}",
        who, setting_.description.spec, late.size() == 1 ? "has" : "have",
        static_cast<double>(setting_.hang_timeout_ns) / 1e9, lines));
}

}  // namespace selion::machine
