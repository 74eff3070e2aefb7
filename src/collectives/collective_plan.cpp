// SPDX-License-Identifier: Apache-2.0
#include "collectives/collective_plan.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "collectives/call_shape.hpp"
#include "collectives/team_block.hpp"
#include "collectives/team_nodes.hpp"
#include "machine/machine.hpp"
#include "selion/tuning.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

/// Up to so many bytes for each pair, an exchange by messages takes few of them, which carry
/// others' blocks.
constexpr std::size_t short_block_bytes = 256;
/// Elements of these sizes may want to lie on multiples of more than lines offer.
constexpr std::size_t wide_element_bytes = 2 * alignof(detail::shared_word);

/// From so many bytes of a block on, one copy and a meeting more are quicker than two copies; where
/// others cannot address a member's memory there are two copies all the same, or each block costs a
/// call to the kernel. The share of an all-reduce should be longer the more members there are.
/// Measured on two cores with two to 64 threads and processes.
std::size_t direct_bytes(const team_members& members, const detail::block_call& call) {
    const bool is_one_process = members.context().host->description().processes == 1;
    if (call.what == all_reduce) return (is_one_process ? 4096 : 8192) * members.count();
    if (call.what == reduce) return std::size_t{16 * 1024} * members.count();
    if (call.what == reduce_scatter) return 8 * 1024;
    if (is_one_process) return 4096 / (gives_all(call.what) ? members.count() : 1);
    if (call.what == all_gather && members.count() > 2)
        return std::numeric_limits<std::size_t>::max();
    return 16 * 1024;
}

/// Between processes data are copied into the heap first, where that is no burden; so nothing that
/// grows with the members. A member may look only at what is the same at all of them: not at where
/// its data lie.
bool can_be_direct(const team_members& members, const detail::block_call& call) {
    constexpr std::uint64_t least_heap = 64 * 1024 * 1024;
    if (call.most != 0) return false;
    const bool is_one_process = members.context().host->description().processes == 1;
    switch (call.what) {
        case broadcast:
        case all_reduce: return is_one_process || members.context().reserve_bytes >= least_heap;
        case reduce:
        case reduce_scatter: return is_one_process;
        case gather:
        case all_gather:
        case scatter:
        case exchange: return true;
        default: return false;
    }
}

/// Where the association of a sum is promised the tree's root is member 0, and the result goes on
/// from there.
bool takes_detour(const detail::block_call& call, const schedule_request& request) {
    return call.what == reduce && call.root != request.root;
}

/// Of two members the second one can make a sum as well as the first: it does what that would do,
/// and what comes to it goes before its own.
rank_schedule mirrored(const schedule_request& request, std::uint32_t member) {
    const auto mirror = [](schedule_message& message) {
        message.peer = 1 - message.peer;
        if (message.action == block_action::combine_after) {
            message.action = block_action::combine_before;
        }
    };
    rank_schedule own = make_schedule(request, 1 - member);
    for (schedule_step& step : own.steps) {
        std::ranges::for_each(step.sends, mirror);
        std::ranges::for_each(step.receives, mirror);
    }
    return own;
}

rank_schedule make(const detail::block_call& call, const schedule_request& request,
                   std::uint32_t member) {
    if (takes_detour(call, request) && request.ranks == 2) return mirrored(request, member);
    rank_schedule own = make_schedule(request, member);
    if (takes_detour(call, request)) {
        if (member == request.root) own.steps.push_back({{{call.root, {{0, own.blocks}}}}, {}});
        if (member == call.root) own.steps.push_back({{}, {{request.root, {{0, own.blocks}}}}});
    }
    return own;
}

/// Messages of a schedule, both ways.
std::size_t size_of(const rank_schedule& schedule) {
    std::size_t messages = 0;
    for (const schedule_step& step : schedule.steps) {
        messages += step.sends.size() + step.receives.size();
    }
    return messages;
}

/// Where each member is alone on its host, pairs and pairs of pairs take half as many messages one
/// after the other as a tree, which goes up and down. Longer vectors do better in parts that follow
/// each other along the tree, and a few bytes as letters. But where the network moves long messages
/// by itself, whole vectors do best; long ones in halves, of which each adds a part.
/// @return nothing: parts or letters.
std::optional<schedule_algorithm> pairs_for(const team_members& members,
                                            const detail::block_call& call) {
    constexpr std::size_t shortest = 64;
    constexpr std::size_t longest = 8 * 1024;
    constexpr std::size_t shortest_moved = 32 * 1024;
    constexpr std::size_t shortest_halved = 1024 * 1024;  // of all members
    constexpr std::size_t shortest_halved_by_two = 512 * 1024;
    const std::size_t bytes = call.block_bytes();
    if (bytes >= shortest && bytes <= longest) return schedule_algorithm::recursive_doubling;
    if (bytes < shortest_moved || !members.context().transport->moves_long_messages()) {
        return std::nullopt;
    }
    const bool halves = members.count() == 2 ? bytes >= shortest_halved_by_two
                                             : bytes >= shortest_halved / members.count();
    return halves ? schedule_algorithm::vector_halving : schedule_algorithm::recursive_doubling;
}

/// Members of which each is alone on its host.
bool are_alone_on_hosts(const team_members& members) {
    return !members.has_levels() && members.context().host->description().kind == "fabric";
}

/// A long block that goes from one of two members to the other goes as a whole: it is read where it
/// lies.
std::optional<collective_choice> from_one_to_the_other(const team_members& members,
                                                       const detail::block_call& call) {
    constexpr std::size_t shortest = 64 * 1024;
    const bool is_of_one = call.what == broadcast || call.what == reduce;
    const bool is_possible = is_of_one && members.count() == 2 && call.block_bytes() >= shortest &&
                             are_alone_on_hosts(members) && members.context().deaths == nullptr &&
                             members.context().transport->moves_long_messages();
    if (!is_possible) return std::nullopt;
    // Of two members all trees are alike; but a binomial one keeps the association of sums, and
    // broadcasts by another way.
    return collective_choice{collective_way::messages,
                             {.algorithm = call.what == broadcast ? schedule_algorithm::flat
                                                                  : schedule_algorithm::k_nomial}};
}

std::optional<collective_choice> in_pairs(const team_members& members,
                                          const detail::block_call& call) {
    const bool is_possible = call.what == all_reduce && are_alone_on_hosts(members);
    const auto pairs = is_possible ? pairs_for(members, call) : std::nullopt;
    if (!pairs) return std::nullopt;
    const collective_choice made{collective_way::messages, {.algorithm = *pairs}};
    if (!keeps_association(call.what, made, members.count())) return std::nullopt;
    return made;
}

/// Long vectors go in segments, few enough that messages do not cost more than they save.
std::uint32_t usual_segments(std::size_t bytes) {
    constexpr std::size_t segment_bytes = 32 * 1024;
    constexpr std::size_t most = 16;
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(bytes / segment_bytes, 1, most));
}

}  // namespace

/// Where the order of a sum is promised (selion/reduction.hpp), a tree of radix 2 keeps it.
schedule_request usual_schedule(const detail::block_call& call) {
    schedule_request request;
    if (call.most != 0) {
        // Only the two ends of a block know how long it is.
        request.algorithm =
            has_root(call.what) ? schedule_algorithm::flat : schedule_algorithm::pairwise;
        return request;
    }
    request.algorithm = schedule_algorithm::k_nomial;
    switch (call.what) {
        case broadcast:
        case reduce:
        case all_reduce: request.segments = usual_segments(call.block_bytes()); break;
        case scan:
        case exscan: request.algorithm = schedule_algorithm::binary; break;
        case barrier: request.algorithm = schedule_algorithm::dissemination; break;
        case all_gather: request.algorithm = schedule_algorithm::bruck; break;
        case exchange:
            request.algorithm = call.block_bytes() <= short_block_bytes
                                    ? schedule_algorithm::bruck
                                    : schedule_algorithm::pairwise;
            break;
        default: break;
    }
    return request;
}

collective_choice usual_messages(const detail::block_call& call) {
    collective_choice made{collective_way::messages, usual_schedule(call)};
    // These two go along trees of their own, which cut vectors themselves (message_tree).
    if (call.what == broadcast || call.what == all_reduce) made.schedule.segments = 1;
    return made;
}

bool takes_turns(const team_members& members) {
    return members.groups() != members.count() || members.context().simulated != nullptr;
}

bool is_possible(collective_way way, const team_members& members, const detail::block_call& call) {
    const bool is_wide = call.how != nullptr && call.element_bytes % wide_element_bytes == 0;
    const std::size_t shown = gives_all(call.what) ? members.count() : 1;  // blocks of a member
    const std::size_t share = slot_bytes / shown;
    switch (way) {
        case collective_way::board:
            return members.are_mapped() && !is_wide && call.most == 0 &&
                   call.most_bytes() <= line_payload / shown;
        case collective_way::slots:
            // A part of every block has to fit: at least an element of a reduction, or a line.
            return members.are_mapped() &&
                   share >= (call.how != nullptr ? call.element_bytes : detail::line_bytes);
        case collective_way::direct:
            return members.are_mapped() && can_be_direct(members, call) &&
                   (call.how == nullptr || call.most_bytes() > detail::most_short_bytes ||
                    is_possible(collective_way::slots, members, call));  // so short, they go there
        case collective_way::lines: return members.are_mapped();
        case collective_way::nodes: return team_nodes::can(members, call);
        case collective_way::messages: break;
    }
    return true;
}

collective_choice plan(const team_members& members, const detail::block_call& call) {
    const auto can = [&](collective_way way) { return is_possible(way, members, call); };
    // On the board everybody waits for each of the others; where they take turns on a thread it is
    // better to wait once, for all.
    if (!takes_turns(members) && call.what != barrier && can(collective_way::board)) {
        return {collective_way::board, {}};
    }
    if (can(collective_way::direct) && call.block_bytes() >= direct_bytes(members, call)) {
        return {collective_way::direct, {}};
    }
    if (can(collective_way::slots)) return {collective_way::slots, {}};
    if (can(collective_way::nodes)) return {collective_way::nodes, {}};
    if (const auto whole = from_one_to_the_other(members, call)) return *whole;
    return in_pairs(members, call).value_or(usual_messages(call));
}

const rank_schedule& schedule_store::of(const detail::block_call& call,
                                        const schedule_request& request, std::uint32_t member) {
    constexpr std::size_t most_kept = 16;
    constexpr std::size_t most_messages = 256;
    const auto found = std::ranges::find_if(kept_, [&](const entry& one) {
        return one.request == request && one.call_root == call.root;
    });
    if (found != kept_.end()) return found->schedule;
    rank_schedule made = make(call, request, member);
    if (size_of(made) > most_messages) return large_ = std::move(made);
    if (kept_.size() == most_kept) kept_.pop_back();
    kept_.push_front({request, call.root, std::move(made)});
    return kept_.front().schedule;
}

}  // namespace selion::collectives
