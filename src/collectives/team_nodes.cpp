// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_nodes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "collectives/binomial_tree.hpp"
#include "machine/machine.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::collectives {
namespace {

constexpr machine::wait_reason reason = machine::wait_reason::collective;

/// Data up to this length lie where no parcel ever lands.
bool is_short(std::size_t bytes) { return bytes <= group_result_bytes; }

std::byte* place_on(team_block& block, std::uint64_t shelf, std::size_t bytes) {
    return is_short(bytes) ? block.group_results[shelf] : block.slots[shelf];
}

void send_to(message_way& across, std::uint32_t member, std::span<const std::byte> data) {
    across.send(member, std::span(&data, 1), false);
}

}  // namespace

bool team_nodes::can(const team_members& members, const detail::block_call& call) {
    if (!members.has_levels() || call.most != 0) return false;
    if (call.what == collective_kind::all_reduce) return is_short(call.block_bytes());
    return call.what == collective_kind::barrier || call.what == collective_kind::broadcast;
}

void team_nodes::run(const detail::block_call& call, message_way& across) {
    if (call.what == collective_kind::barrier) return meeting_.synchronise(reason);
    if (call.block_bytes() == 0) return;
    if (call.what == collective_kind::broadcast) return broadcast(call, across);
    all_reduce(call, across);
}

void team_nodes::show(std::span<const std::byte> data) {
    gate_.show([&](std::uint64_t shelf) {
        team_block& own = members_.block(members_.own());
        std::memcpy(place_on(own, shelf, data.size()), data.data(), data.size());
    });
}

void team_nodes::take(std::uint32_t from, std::byte* to, std::size_t bytes) {
    gate_.take(from, [&](std::uint64_t shelf) {
        std::memcpy(to, place_on(members_.block(from), shelf, bytes), bytes);
    });
}

void team_nodes::broadcast(const detail::block_call& call, message_way& across) {
    const node_map& nodes = members_.nodes();
    const std::uint32_t node = nodes.node_of(members_.own());
    const bool has_root = node == nodes.node_of(call.root);
    const std::uint32_t from = has_root ? call.root : gate_.leader();
    if (from == members_.own()) return lead_broadcast(call, across);
    const std::size_t bytes = call.block_bytes();
    const std::size_t part_bytes = is_short(bytes) ? bytes : slot_bytes;
    for (std::size_t done = 0; done < bytes; done += part_bytes) {
        take(from, call.target + done, std::min(bytes - done, part_bytes));
    }
}

/// Along a binomial tree of nodes, whose root is the node of the root.
void team_nodes::lead_broadcast(const detail::block_call& call, message_way& across) {
    const node_map& nodes = members_.nodes();
    const std::uint32_t root_node = nodes.node_of(call.root);
    const auto speaker_at = [&](std::uint32_t place) {
        const std::uint32_t node = (place + root_node) % nodes.nodes();
        return node == root_node ? call.root : leader_of(node);
    };
    const std::uint32_t own_node = nodes.node_of(members_.own());
    const std::uint32_t place = (own_node + nodes.nodes() - root_node) % nodes.nodes();
    const std::uint32_t children = binomial_tree::child_levels(place, nodes.nodes());
    const std::size_t bytes = call.block_bytes();
    const std::size_t part_bytes = is_short(bytes) ? bytes : slot_bytes;
    for (std::size_t done = 0; done < bytes; done += part_bytes) {
        const std::span part(call.target + done, std::min(bytes - done, part_bytes));
        if (place != 0) {
            const std::uint32_t parent = place - (1u << binomial_tree::parent_level(place));
            const std::span come = receive(call, speaker_at(parent), part.size(), across);
            std::memcpy(part.data(), come.data(), part.size());
        }
        for (std::uint32_t level = children; level-- > 0;) {
            send_to(across, speaker_at(place + (1u << level)), part);
        }
        show(part);
    }
    if (!is_short(bytes)) gate_.await_takers();  // parcels may land in the slots again
}

void team_nodes::all_reduce(const detail::block_call& call, message_way& across) {
    const std::size_t bytes = call.block_bytes();
    if (!gate_.leads()) {
        std::memcpy(members_.block(members_.own()).node_value, call.source, bytes);
        gate_.arrive();
        return take(gate_.leader(), call.target, bytes);
    }
    gate_.await_arrivals(reason);
    ordered_partials partials(members_.count(), call.count, *call.how);
    partials.begin_at(members_.own());
    partials.add(call.source);
    for (std::uint32_t i = 1; i <= gate_.others(); ++i) {
        partials.add(members_.block(members_.own() + i).node_value);
    }
    std::memcpy(call.target, total_of_all(call, partials, across), bytes);
    show({call.target, bytes});
}

/// Leaders double the range of members whose partial results they have. Where the number of nodes
/// is no power of two, the first nodes go in pairs of which one takes part.
const std::byte* team_nodes::total_of_all(const detail::block_call& call, ordered_partials& own,
                                          message_way& across) {
    const node_map& nodes = members_.nodes();
    const std::uint32_t parts = std::bit_floor(nodes.nodes());
    const std::uint32_t pairs = nodes.nodes() - parts;
    const std::uint32_t node = nodes.node_of(members_.own());
    const auto node_at = [&](std::uint32_t part) { return part < pairs ? 2 * part : part + pairs; };
    const auto first_at = [&](std::uint32_t part) {
        return part == parts ? members_.count() : nodes.first_of(node_at(part));
    };
    const bool is_paired = node < 2 * pairs;
    if (is_paired && node % 2 != 0) {
        send_to(across, leader_of(node - 1), own.bytes());
        return receive(call, leader_of(node - 1), call.block_bytes(), across).data();
    }
    if (is_paired) {
        const std::uint32_t end = nodes.end_of(node + 1);
        const std::size_t wanted = own.bytes_of(own.end(), end);
        own.add_range(receive(call, leader_of(node + 1), wanted, across), end);
    }
    const std::uint32_t part = is_paired ? node / 2 : node - pairs;
    for (std::uint32_t width = 1; width < parts; width *= 2) {
        const std::uint32_t other = part ^ width;
        const std::uint32_t first = other / width * width;
        const std::uint32_t end = first_at(first + width);
        const std::uint32_t leader = leader_of(node_at(other));
        send_to(across, leader, own.bytes());
        const std::size_t wanted = own.bytes_of(first_at(first), end);
        const std::span come = receive(call, leader, wanted, across);
        own.end() == first_at(first) ? own.add_range(come, end)
                                     : own.add_before(come, first_at(first));
    }
    const std::byte* const total = own.total();
    if (is_paired) send_to(across, leader_of(node + 1), {total, call.block_bytes()});
    return total;
}

std::span<const std::byte> team_nodes::receive(const detail::block_call& call, std::uint32_t from,
                                               std::size_t wanted, message_way& across) const {
    const std::span come = across.receive(from, wanted, nullptr);
    expect_bytes(context_, call.what, members_.world_rank(from), {wanted, come.size()});
    return come;
}

}  // namespace selion::collectives
