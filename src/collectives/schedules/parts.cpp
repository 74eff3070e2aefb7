// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedules/parts.hpp"

#include <algorithm>
#include <utility>

namespace selion::collectives {

void append_up(rank_schedule& own, const tree_walk& walk, block_action action) {
    const tree_links links = links_in(walk.shape, walk.radix, walk.places, walk.place);
    if (!links.children.empty()) {
        schedule_step& step = own.steps.emplace_back();
        for (const subtree& child : links.children) {
            step.receives.push_back({walk.rank_at(child.place), walk.blocks_of(child), action});
        }
    }
    if (walk.place == 0) return;
    append_send(own, {walk.rank_at(links.parent), walk.blocks_of(links.own), action});
}

void append_down(rank_schedule& own, const tree_walk& walk) {
    const tree_links links = links_in(walk.shape, walk.radix, walk.places, walk.place);
    if (walk.place != 0) {
        append_receive(own, {walk.rank_at(links.parent), walk.blocks_of(links.own)});
    }
    if (links.children.empty()) return;
    // The largest subtrees have the longest way to go.
    schedule_step& step = own.steps.emplace_back();
    for (auto child = links.children.rbegin(); child != links.children.rend(); ++child) {
        step.sends.push_back({walk.rank_at(child->place), walk.blocks_of(*child)});
    }
}

void append_pipeline(rank_schedule& own, std::span<const linked_rank> from,
                     std::span<const linked_rank> to, std::uint64_t blocks) {
    if (from.empty() && to.empty()) return;
    const std::uint64_t messages = std::max<std::uint64_t>(blocks, 1);
    const auto block = [blocks](std::uint64_t number) {
        return blocks == 0 ? std::vector<block_range>{} : std::vector<block_range>{{number, 1}};
    };
    // What comes in one step goes on in the next.
    const std::uint64_t lag = from.empty() ? 0 : 1;
    const std::uint64_t steps = messages + (to.empty() ? 0 : lag);
    for (std::uint64_t i = 0; i < steps; ++i) {
        schedule_step& step = own.steps.emplace_back();
        for (const linked_rank& one : to) {
            if (i >= lag) step.sends.push_back({one.rank, block(i - lag), one.action});
        }
        for (const linked_rank& one : from) {
            if (i < messages) step.receives.push_back({one.rank, block(i), one.action});
        }
    }
}

void append_swap(rank_schedule& own, schedule_message sent, schedule_message received) {
    schedule_step& step = own.steps.emplace_back();
    step.sends.push_back(std::move(sent));
    step.receives.push_back(std::move(received));
}

void append_send(rank_schedule& own, schedule_message sent) {
    own.steps.emplace_back().sends.push_back(std::move(sent));
}

void append_receive(rank_schedule& own, schedule_message received) {
    own.steps.emplace_back().receives.push_back(std::move(received));
}

}  // namespace selion::collectives
