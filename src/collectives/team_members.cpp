// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_members.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace selion::collectives {

team_members::team_members(const detail::rank_context& context)
    : context_(context),
      own_(context.rank),
      count_(context.ranks),
      group_first_(context.group_first),
      group_size_(context.group_size),
      groups_(context.groups),
      are_mapped_(context.words_mapped) {
    find_nodes();
}

team_members::team_members(const detail::rank_context& context, const std::vector<entry>& entries,
                           std::uint32_t own)
    : context_(context),
      own_(own),
      count_(static_cast<std::uint32_t>(entries.size())),
      group_first_(own),
      group_size_(0),
      groups_(0),
      are_mapped_(true) {
    blocks_.reserve(entries.size());
    for (const entry& one : entries) blocks_.push_back(one.block);
    for (std::uint32_t member = 0; member < count_; ++member) {
        are_mapped_ = are_mapped_ && maps(member);
    }
    name_ = (std::uint64_t{world_rank(0)} << 32) + entries.front().made;
    find_groups(entries);
    find_nodes();
}

bool team_members::maps(std::uint32_t member) const {
    const bool may_share_node = context_.simulated != nullptr || context_.mapped_count > 1;
    return context_.words_mapped ||
           (may_share_node && detail::mapped_address(context_, address(member, 0)) != nullptr);
}

std::optional<std::uint32_t> team_members::first_dead(const machine::death_list& deaths) const {
    for (std::uint32_t member = 0; member < count_; ++member) {
        if (deaths.is_dead(world_rank(member))) return world_rank(member);
    }
    return std::nullopt;
}

bool team_members::have_left(const machine::death_list& deaths) const {
    for (std::uint32_t member = 0; member < count_; ++member) {
        if (deaths.has_called(world_rank(member))) return true;
    }
    return false;
}

std::vector<std::uint32_t> team_members::mapped() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t member = 0; member < count_; ++member) {
        if (maps(member)) all.push_back(member);
    }
    return all;
}

void team_members::find_nodes() {
    if (context_.nodes == nullptr || are_mapped_) return;
    const node_map& ranks = *context_.nodes;
    std::vector<std::uint32_t> firsts;
    std::vector<bool> is_known(ranks.nodes());
    std::uint32_t latest = ranks.nodes();
    for (std::uint32_t member = 0; member < count_; ++member) {
        const std::uint32_t node = ranks.node_of(world_rank(member));
        if (node == latest) continue;
        if (is_known[node]) return;  // its members are no neighbours
        is_known[node] = true;
        latest = node;
        firsts.push_back(member);
    }
    nodes_ = node_map(std::move(firsts), count_);
    has_levels_ = nodes_.has_levels();
}

void team_members::find_groups(const std::vector<entry>& entries) {
    std::set<std::uint32_t> carriers;
    for (std::uint32_t member = 0; member < count_; ++member) {
        carriers.insert(entries[member].first_beside);
        if (entries[member].first_beside != context_.group_first) continue;
        group_first_ = std::min(group_first_, member);
        ++group_size_;
    }
    groups_ = static_cast<std::uint32_t>(carriers.size());
}

}  // namespace selion::collectives
