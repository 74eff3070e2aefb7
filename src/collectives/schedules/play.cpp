// SPDX-License-Identifier: Apache-2.0
/// A symbolic run of a schedule: values are lists of the ranks that they stand for.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "selion/error.hpp"
#include "selion/schedule.hpp"

namespace selion {
namespace {

using enum collective_kind;

[[noreturn]] void fail(const std::string& sentence) {
    throw error(status::bad_argument, "schedule: " + sentence);
}

/// The ranks whose contributions a block holds, in the order of their combination; of one that is
/// moved only, its source. Empty: nothing is there.
using block_value = std::vector<std::uint32_t>;

bool reduces(collective_kind collective) {
    return collective == reduce || collective == all_reduce || collective == reduce_scatter ||
           collective == scan || collective == exscan;
}

/// One rank on its way.
struct player {
    const rank_schedule* own;
    std::size_t step = 0;
    std::size_t sent = 0;                  ///< of this step's sends
    std::vector<bool> received = {};       ///< of this step's receives
    std::vector<block_value> blocks = {};  ///< all of the collective
    std::vector<bool> knows = {};          ///< barrier: of whose arrival
    /// What this step sends, as it was when the step began.
    std::vector<std::vector<block_value>> outgoing = {};
    std::vector<bool> told = {};
    std::vector<std::vector<block_value>> incoming = {};
    std::vector<std::vector<bool>> heard = {};

    bool is_done() const { return step == own->steps.size(); }
    const schedule_step& now() const { return own->steps[step]; }
};

class play {
public:
    play(const schedule_request& request, const std::vector<rank_schedule>& own)
        : request_(request), ranks_(request.ranks) {
        result_.blocks = own.front().blocks;
        expect_blocks();
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
            if (own[rank].blocks != result_.blocks) {
                fail(fmt::format("rank {} counts {} blocks, rank 0 {}", rank, own[rank].blocks,
                                 result_.blocks));
            }
            expect_ranges(rank, own[rank]);
            players_.push_back({.own = &own[rank]});
            give_start(rank);
            begin_step(players_.back());
        }
    }

    played_schedule run() {
        while (!std::ranges::all_of(players_, &player::is_done)) {
            if (!play_round()) fail("nobody can go on: " + who_waits());
            ++result_.rounds;
        }
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) check_end(rank);
        return std::move(result_);
    }

private:
    bool owns_at_start(std::uint32_t rank, std::uint64_t block) const {
        switch (request_.collective) {
            case broadcast:
            case scatter: return rank == request_.root;
            case gather:
            case all_gather: return block == rank;
            case exchange: return block / ranks_ == rank;
            default: return true;
        }
    }

    /// A play that follows no block, or not all of them, would prove nothing.
    void expect_blocks() const {
        std::uint64_t wanted = 0;  // any number but 0
        switch (request_.collective) {
            case barrier: return;
            case gather:
            case all_gather:
            case scatter:
            case reduce_scatter: wanted = ranks_; break;
            case exchange: wanted = std::uint64_t{ranks_} * ranks_; break;
            default: break;
        }
        if (wanted == 0 ? result_.blocks != 0 : result_.blocks == wanted) return;
        fail(fmt::format("the schedule counts {} blocks; {} of {} ranks has {}", result_.blocks,
                         name_of(request_.collective), ranks_,
                         wanted == 0 ? "1 or more" : std::to_string(wanted)));
    }

    /// A longer one would be followed round all blocks again and again.
    void expect_ranges(std::uint32_t rank, const rank_schedule& own) const {
        for (const schedule_step& step : own.steps) {
            for (const auto* const messages : {&step.sends, &step.receives}) {
                for (const schedule_message& message : *messages) expect_ranges(rank, message);
            }
        }
    }

    void expect_ranges(std::uint32_t rank, const schedule_message& message) const {
        for (const block_range& range : message.blocks) {
            if (range.first < result_.blocks && range.count <= result_.blocks) continue;
            if (result_.blocks == 0) fail("a message names a block, of which there are none");
            fail(
                fmt::format("a message of rank {} has {} blocks from block {} on; there are "
                            "blocks 0 to {}",
                            rank, range.count, range.first, result_.blocks - 1));
        }
    }

    void give_start(std::uint32_t rank) {
        player& who = players_[rank];
        who.knows.assign(ranks_, false);
        who.knows[rank] = true;
        who.blocks.resize(result_.blocks);
        for (std::uint64_t block = 0; block < result_.blocks; ++block) {
            if (owns_at_start(rank, block)) who.blocks[block] = {rank};
        }
    }

    std::uint64_t number_of(const block_range& range, std::uint64_t i) const {
        return (range.first + i) % result_.blocks;
    }

    std::vector<block_value> values_of(const player& who, const schedule_message& message) const {
        std::vector<block_value> values;
        for (const block_range& range : message.blocks) {
            for (std::uint64_t i = 0; i < range.count; ++i) {
                values.push_back(who.blocks[number_of(range, i)]);
            }
        }
        return values;
    }

    void begin_step(player& who) {
        while (!who.is_done()) {
            const schedule_step& step = who.now();
            who.sent = 0;
            who.received.assign(step.receives.size(), false);
            who.incoming.assign(step.receives.size(), {});
            who.heard.assign(step.receives.size(), {});
            who.outgoing.clear();
            for (const schedule_message& message : step.sends) {
                who.outgoing.push_back(values_of(who, message));
            }
            who.told = who.knows;
            if (!step.sends.empty() || !step.receives.empty()) return;
            ++who.step;
        }
    }

    /// The first receive from `from` that is still open.
    std::optional<std::size_t> open_receive(const player& who, std::uint32_t from) const {
        if (who.is_done()) return {};
        const auto& receives = who.now().receives;
        for (std::size_t i = 0; i < receives.size(); ++i) {
            if (!who.received[i] && receives[i].peer == from) return i;
        }
        return {};
    }

    bool play_round() {
        std::vector<bool> hears(ranks_, false);
        bool has_moved = false;
        for (std::uint32_t from = 0; from < ranks_; ++from) {
            player& sender = players_[from];
            if (sender.is_done() || sender.sent == sender.now().sends.size()) continue;
            const schedule_message& message = sender.now().sends[sender.sent];
            if (message.peer >= ranks_)
                fail(fmt::format("rank {} sends to {}", from, message.peer));
            const auto place = open_receive(players_[message.peer], from);
            if (!place || hears[message.peer]) continue;
            hears[message.peer] = true;
            pass(from, message, *place);
            ++sender.sent;
            has_moved = true;
        }
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) end_step(rank);
        return has_moved;
    }

    void pass(std::uint32_t from, const schedule_message& message, std::size_t place) {
        const player& sender = players_[from];
        player& receiver = players_[message.peer];
        const schedule_message& awaited = receiver.now().receives[place];
        if (awaited.blocks != message.blocks || awaited.action != message.action) {
            fail(fmt::format("ranks {} and {} disagree about a message", from, message.peer));
        }
        receiver.received[place] = true;
        receiver.incoming[place] = sender.outgoing[sender.sent];
        receiver.heard[place] = sender.told;
        result_.messages.push_back(
            {result_.rounds, from, message.peer, message.blocks, message.action});
    }

    void end_step(std::uint32_t rank) {
        player& who = players_[rank];
        if (who.is_done() || who.sent != who.now().sends.size()) return;
        if (std::ranges::find(who.received, false) != who.received.end()) return;
        const auto& receives = who.now().receives;
        for (std::size_t i = 0; i < receives.size(); ++i) {
            take_in(rank, receives[i], who.incoming[i]);
            for (std::uint32_t of = 0; of < ranks_; ++of) {
                if (who.heard[i][of]) who.knows[of] = true;
            }
        }
        ++who.step;
        begin_step(who);
    }

    void take_in(std::uint32_t rank, const schedule_message& message,
                 const std::vector<block_value>& values) {
        std::size_t next = 0;
        for (const block_range& range : message.blocks) {
            for (std::uint64_t i = 0; i < range.count; ++i) {
                const std::uint64_t block = number_of(range, i);
                take_in_block(rank, message, block, values[next++]);
            }
        }
    }

    void take_in_block(std::uint32_t rank, const schedule_message& message, std::uint64_t block,
                       const block_value& come) {
        block_value& own = players_[rank].blocks[block];
        if (come.empty()) {
            fail(fmt::format("rank {} sends block {} to {} before it has it", message.peer, block,
                             rank));
        }
        if (message.action == block_action::store) {
            if (!own.empty() && !reduces(request_.collective)) {
                fail(fmt::format("rank {} gets block {} twice", rank, block));
            }
            own = come;
            return;
        }
        for (const std::uint32_t part : come) {
            if (std::ranges::find(own, part) != own.end()) {
                fail(fmt::format("rank {} takes the value of rank {} into block {} twice", rank,
                                 part, block));
            }
        }
        const bool is_after = message.action == block_action::combine_after;
        own.insert(is_after ? own.end() : own.begin(), come.begin(), come.end());
    }

    /// Whether the rank's block has to be there at the end, and of how many ranks from 0 on.
    std::optional<std::uint32_t> wanted_of(std::uint32_t rank, std::uint64_t block) const {
        switch (request_.collective) {
            case reduce: return rank == request_.root ? std::optional(ranks_) : std::nullopt;
            case reduce_scatter: return block == rank ? std::optional(ranks_) : std::nullopt;
            case all_reduce: return ranks_;
            case scan: return rank + 1;
            case exscan: return rank == 0 ? std::nullopt : std::optional(rank);
            default: return {};
        }
    }

    bool must_have(std::uint32_t rank, std::uint64_t block) const {
        switch (request_.collective) {
            case broadcast:
            case all_gather: return true;
            case gather: return rank == request_.root;
            case scatter: return block == rank;
            case exchange: return block % ranks_ == rank;
            default: return false;
        }
    }

    void check_end(std::uint32_t rank) {
        const player& who = players_[rank];
        if (request_.collective == barrier) {
            const auto missing = std::ranges::find(who.knows, false);
            if (missing != who.knows.end()) {
                fail(fmt::format("rank {} goes on without rank {}", rank,
                                 missing - who.knows.begin()));
            }
        }
        for (std::uint64_t block = 0; block < result_.blocks; ++block) {
            if (must_have(rank, block) && who.blocks[block].empty()) {
                fail(fmt::format("rank {} never gets block {}", rank, block));
            }
            if (const auto wanted = wanted_of(rank, block)) check_sum(rank, block, *wanted);
        }
    }

    void check_sum(std::uint32_t rank, std::uint64_t block, std::uint32_t wanted) {
        block_value value = players_[rank].blocks[block];
        if (!std::ranges::is_sorted(value)) {
            result_.keeps_order = false;
            std::ranges::sort(value);
        }
        for (std::uint32_t part = 0; part < wanted; ++part) {
            if (part < value.size() && value[part] == part) continue;
            fail(fmt::format("rank {} lacks the value of rank {} in block {}", rank, part, block));
        }
        if (value.size() != wanted) {
            fail(
                fmt::format("rank {} has the value of rank {} in block {}, which is not its to "
                            "have",
                            rank, value.back(), block));
        }
    }

    std::string who_waits() const {
        std::string text;
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
            const player& who = players_[rank];
            if (who.is_done()) continue;
            text += fmt::format("{}rank {} in step {} of {}", text.empty() ? "" : ", ", rank,
                                who.step + 1, who.own->steps.size());
        }
        return text;
    }

    const schedule_request& request_;
    std::uint32_t ranks_;
    std::vector<player> players_;
    played_schedule result_;
};

}  // namespace

played_schedule play_schedule(const schedule_request& request,
                              const std::vector<rank_schedule>& own) {
    if (own.size() != request.ranks || own.empty()) {
        fail(fmt::format("{} ranks have {} schedules", request.ranks, own.size()));
    }
    return play(request, own).run();
}

played_schedule play_schedule(const schedule_request& request) {
    std::vector<rank_schedule> own;
    for (std::uint32_t rank = 0; rank < std::max(request.ranks, 1u); ++rank) {
        own.push_back(make_schedule(request, rank));
    }
    return play_schedule(request, own);
}

}  // namespace selion
