// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "machine/process/failure.hpp"
#include "machine/process/last_words.hpp"
#include "machine/rank_list.hpp"
#include "machine/sim/simulation.hpp"

namespace selion::machine::sim {
namespace {

std::string why_text(const simulation& all, const rank_state& rank) {
    switch (rank.why) {
        case standstill::none: break;
        case standstill::quiet:
            return fmt::format("waits for {} operations of its own to arrive", rank.under_way);
        case standstill::answer: return "waits for an answer";
        case standstill::credit:
            return fmt::format("waits until rank {} has room for another message", rank.creditor);
        case standstill::word: {
            const auto* place = reinterpret_cast<const std::byte*>(rank.awaited);
            const auto offset = static_cast<std::uint64_t>(place - all.segments().slice(0));
            const std::uint64_t stride = all.segments().stride_bytes();
            if (offset >= stride * all.ranks().size()) {
                return fmt::format("waits for at least {} in a word of its own, which is {}",
                                   rank.at_least, rank.awaited->value);
            }
            return fmt::format(
                "waits for at least {} in the word at offset {} of rank {}, which is {}",
                rank.at_least, offset % stride, offset / stride, rank.awaited->value);
        }
    }
    return "stands still";
}

}  // namespace

void end_in_deadlock(const simulation& all) {
    constexpr std::size_t most_lines = 64;
    std::string text = fmt::format("deadlock at {} ps: nothing can happen any more",
                                   all.model().tick.to_ps(all.time()));
    std::size_t lines = 0;
    std::vector<std::uint32_t> done;
    for (const rank_state& rank : all.ranks()) {
        if (look_at(rank.record.has_finished) != 0) {
            done.push_back(rank.context.rank);
            continue;
        }
        if (++lines > most_lines) continue;
        text += fmt::format("\n  rank {} {}, {}", rank.context.rank, why_text(all, rank),
                            last_call_text(rank.record));
    }
    if (lines > most_lines) text += fmt::format("\n  and {} more", lines - most_lines);
    if (!done.empty()) {
        text +=
            fmt::format("\n  {} {} returned", ranks_text(done), done.size() == 1 ? "has" : "have");
    }
    announce({{}, text, {}});
    say_last_words();
    std::fflush(nullptr);
    _exit(1);
}

}  // namespace selion::machine::sim
