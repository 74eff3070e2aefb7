// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/schedule_clock.hpp"

#include <algorithm>

#include "collectives/call_shape.hpp"
#include "collectives/team_block.hpp"

namespace selion::collectives {

schedule_clock::schedule_clock(const host_costs& host, const team_shape& team,
                               const block_shape& block, schedule_request request)
    : host_(host), team_(team) {
    request.collective = block.what;
    request.ranks = team.members;
    // On several nodes as most roots are: not the first of a node, where trees of all members
    // cross nodes least.
    const bool is_between = team.nodes != nullptr && block.what == collective_kind::broadcast;
    request.root = is_between && team.members > 1 ? 1 : 0;
    for (std::uint32_t rank = 0; rank < team.members; ++rank) {
        members_.push_back({.own = make_schedule(request, rank)});
    }
    const double kib = static_cast<double>(block.bytes) / 1024;
    const auto blocks = static_cast<double>(std::max<std::uint64_t>(members_[0].own.blocks, 1));
    block_kib_ = cuts_vector(block.what) ? kib / blocks : kib;
}

double schedule_clock::run() {
    for (bool has_moved = true; has_moved;) {
        has_moved = false;
        for (std::uint32_t number = 0; number < team_.members; ++number) {
            while (go_on(number)) has_moved = true;
        }
    }
    return total();
}

/// @return whether the member has got any further.
bool schedule_clock::go_on(std::uint32_t number) {
    member& who = members_[number];
    if (who.is_done()) return false;
    const bool begins = !who.has_sent;
    if (begins) send(number);
    const bool receives = !who.has_received && has_all(number);
    if (receives) receive(number);
    if (!who.has_received || who.still_lent != 0) return begins || receives;
    who.now = std::max(who.now, who.taken);
    who.taken = 0;
    who.has_sent = who.has_received = false;
    ++who.step;
    return true;
}

void schedule_clock::work(member& who, double ns) {
    who.now += ns;
    who.busy += ns;
}

double schedule_clock::kib_of(const schedule_message& message) const {
    std::uint64_t blocks = 0;
    for (const block_range& range : message.blocks) blocks += range.count;
    return static_cast<double>(blocks) * block_kib_;
}

/// Whether a message goes from node to node.
bool schedule_clock::crosses(std::uint32_t from, std::uint32_t to) const {
    return team_.nodes != nullptr && team_.nodes->node_of(from) != team_.nodes->node_of(to);
}

void schedule_clock::send(std::uint32_t number) {
    member& who = members_[number];
    who.has_sent = true;
    for (const schedule_message& message : who.own.steps[who.step].sends) {
        const double kib = kib_of(message);
        if (crosses(number, message.peer)) {
            work(who, host_.message + kib * host_.carry / 2);
            const double arrives = who.now + host_.way + kib * host_.carry / 2;
            under_way_[{number, message.peer}].push_back({arrives, kib, false});
            continue;
        }
        const bool is_lent = kib * 1024 > static_cast<double>(line_payload);
        work(who, host_.line + (is_lent ? (1 + kib) * host_.lend : 0));
        who.still_lent += is_lent ? 1 : 0;
        under_way_[{number, message.peer}].push_back({who.now + host_.signal, kib, is_lent});
    }
}

bool schedule_clock::has_all(std::uint32_t number) const {
    const member& who = members_[number];
    std::map<std::uint32_t, std::size_t> wanted;
    for (const schedule_message& one : who.own.steps[who.step].receives) ++wanted[one.peer];
    return std::ranges::all_of(wanted, [&](const auto& from) {
        const auto found = under_way_.find({from.first, number});
        return found != under_way_.end() && found->second.size() >= from.second;
    });
}

void schedule_clock::receive(std::uint32_t number) {
    member& who = members_[number];
    const std::vector<schedule_message>& messages = who.own.steps[who.step].receives;
    who.has_received = true;
    who.waits += messages.empty() ? 0 : 1;
    for (const schedule_message& message : messages) {
        std::deque<letter>& letters = under_way_[{message.peer, number}];
        const letter got = letters.front();
        letters.pop_front();
        who.now = std::max(who.now, got.arrives);
        const bool is_stored = message.action == block_action::store;
        const double taken = crosses(message.peer, number) ? host_.message : host_.line;
        work(who, taken + got.kib * (is_stored ? host_.copy : host_.combine));
        if (!got.is_lent) continue;
        member& lender = members_[message.peer];
        --lender.still_lent;
        lender.taken = std::max(lender.taken, who.now + host_.signal);
    }
}

/// Not before the last member is done, nor before the processor with most work is; and where
/// members share processors each wait costs a round of all that do.
double schedule_clock::total() const {
    const std::uint32_t beside = (team_.members + team_.processors - 1) / team_.processors;
    double last = 0;
    double busiest = 0;
    std::uint32_t waits = 0;
    for (std::uint32_t first = 0; first < team_.members; first += beside) {
        double busy = 0;
        for (std::uint32_t i = first; i < std::min(first + beside, team_.members); ++i) {
            last = std::max(last, members_[i].now);
            busy += members_[i].busy;
            waits = std::max(waits, members_[i].waits);
        }
        busiest = std::max(busiest, busy);
    }
    return std::max(last, busiest) + (beside > 1 ? waits * beside * host_.turn : 0);
}

}  // namespace selion::collectives
