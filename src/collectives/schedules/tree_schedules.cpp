// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "collectives/schedules/parts.hpp"

namespace selion::collectives {
namespace {

tree_shape shape_of(schedule_algorithm algorithm) {
    switch (algorithm) {
        case schedule_algorithm::k_nomial: return tree_shape::k_nomial;
        case schedule_algorithm::binary: return tree_shape::binary;
        case schedule_algorithm::chain: return tree_shape::chain;
        default: return tree_shape::flat;
    }
}

/// Place 0 is the root's, the ranks after it follow.
tree_walk walk_from_root(const schedule_request& request, std::uint32_t rank) {
    const std::uint32_t ranks = request.ranks;
    const std::uint32_t root = request.root;
    return {shape_of(request.algorithm),
            request.radix,
            ranks,
            (rank + ranks - root) % ranks,
            [=](std::uint32_t place) { return (place + root) % ranks; },
            [](subtree) { return std::vector<block_range>{{0, 1}}; }};
}

/// Every rank has a block, and those of a subtree go together.
tree_walk with_own_blocks(tree_walk walk) {
    walk.blocks_of = [rank_at = walk.rank_at](subtree of) {
        return std::vector<block_range>{{rank_at(of.place), of.end - of.place}};
    };
    return walk;
}

tree_walk with_all_blocks(tree_walk walk) {
    walk.blocks_of = [ranks = walk.places](subtree) {
        return std::vector<block_range>{{0, ranks}};
    };
    return walk;
}

/// Broadcast, reduce and all-reduce, in parts that follow one another through the tree.
rank_schedule make_segmented(const schedule_request& request, const tree_walk& walk) {
    const tree_links links = links_in(walk.shape, walk.radix, walk.places, walk.place);
    std::vector<linked_rank> parent;
    if (walk.place != 0) parent.push_back({walk.rank_at(links.parent)});
    std::vector<linked_rank> children;
    for (const subtree& child : links.children) children.push_back({walk.rank_at(child.place)});
    rank_schedule own{request.segments, {}};
    if (request.collective != collective_kind::broadcast) {
        append_pipeline(own, children, parent, own.blocks);
    }
    if (request.collective == collective_kind::reduce) return own;
    std::ranges::reverse(children);  // the largest subtrees have the longest way to go
    for (auto* const all : {&parent, &children}) {
        for (linked_rank& one : *all) one.action = block_action::store;
    }
    append_pipeline(own, parent, children, own.blocks);
    return own;
}

}  // namespace

rank_schedule make_tree_schedule(const schedule_request& request, std::uint32_t rank) {
    using enum collective_kind;
    using enum block_action;
    const tree_walk walk = walk_from_root(request, rank);
    const auto blocks = std::uint64_t{request.ranks};
    if (request.segments != 1 && uses_segments(request.collective, request.algorithm)) {
        return make_segmented(request, walk);
    }
    rank_schedule own{1, {}};
    switch (request.collective) {
        case barrier: {
            tree_walk bare = walk;
            bare.blocks_of = [](subtree) { return std::vector<block_range>{}; };
            own.blocks = 0;
            append_up(own, bare, store);
            append_down(own, bare);
            break;
        }
        case broadcast: append_down(own, walk); break;
        case reduce: append_up(own, walk, combine_after); break;
        case all_reduce:
            append_up(own, walk, combine_after);
            append_down(own, walk);
            break;
        case reduce_scatter:
            own.blocks = blocks;
            append_up(own, with_all_blocks(walk), combine_after);
            append_down(own, with_own_blocks(walk));
            break;
        case gather:
            own.blocks = blocks;
            append_up(own, with_own_blocks(walk), store);
            break;
        case all_gather:
            own.blocks = blocks;
            append_up(own, with_own_blocks(walk), store);
            // Its own blocks a subtree has already.
            append_down(own, [&] {
                tree_walk rest = walk;
                rest.blocks_of = [ranks = request.ranks](subtree of) {
                    return std::vector<block_range>{{of.end % ranks, ranks - (of.end - of.place)}};
                };
                return rest;
            }());
            break;
        case scatter:
            own.blocks = blocks;
            append_down(own, with_own_blocks(walk));
            break;
        case scan:
        case exscan:
        case exchange: break;  // not made of trees
    }
    return own;
}

/// Groups are neighbours in number; the first rank of each leads it, but the root leads its own.
rank_schedule make_hierarchical_schedule(const schedule_request& request, std::uint32_t rank) {
    using enum collective_kind;
    const std::uint32_t ranks = request.ranks;
    const std::uint32_t size = request.group;
    const std::uint32_t groups = (ranks - 1) / size + 1;
    const std::uint32_t root_group = request.root / size;
    const auto leader = [=, root = request.root](std::uint32_t group) {
        return group == root_group ? root : group * size;
    };
    const std::uint32_t group = rank / size;
    const std::uint32_t first = group * size;
    const std::uint32_t members = std::min(size, ranks - first);
    const std::uint32_t shift = leader(group) - first;
    const bool has_data = request.collective != barrier;
    const auto blocks = [has_data](subtree) {
        return has_data ? std::vector<block_range>{{0, 1}} : std::vector<block_range>{};
    };
    const tree_walk within{tree_shape::k_nomial,
                           request.radix,
                           members,
                           (rank - first + members - shift) % members,
                           [=](std::uint32_t place) { return first + (place + shift) % members; },
                           blocks};
    const tree_walk across{
        tree_shape::k_nomial,
        request.radix,
        groups,
        (group + groups - root_group) % groups,
        [=](std::uint32_t place) { return leader((place + root_group) % groups); },
        blocks};
    const bool leads = rank == leader(group);
    const auto action = has_data ? block_action::combine_after : block_action::store;
    rank_schedule own{has_data ? 1u : 0u, {}};
    if (request.collective != broadcast) {
        append_up(own, within, action);
        if (leads) append_up(own, across, action);
    }
    if (request.collective != reduce) {
        if (leads) append_down(own, across);
        append_down(own, within);
    }
    return own;
}

}  // namespace selion::collectives
