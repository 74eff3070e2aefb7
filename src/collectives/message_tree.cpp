// SPDX-License-Identifier: Apache-2.0
#include "collectives/message_tree.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "collectives/binomial_tree.hpp"
#include "selion/charge.hpp"

namespace selion::collectives {
namespace {

/// Parcels of equal size that the landing area holds.
std::uint32_t landing_places(std::size_t bytes) {
    return static_cast<std::uint32_t>(landing_bytes / bytes);
}

/// Where the partial result of the child at a level lands.
landing_place place_of_child(std::uint32_t level, std::size_t bytes) {
    return {level % landing_places(bytes) * bytes};
}

/// Data that go in parts: of equal size, but for the last one.
struct parts {
    std::byte* data;
    std::size_t bytes;
    std::size_t part_bytes;

    std::size_t count() const { return (bytes + part_bytes - 1) / part_bytes; }
    /// Empty from `count()` on.
    std::span<std::byte> at(std::size_t number) const {
        const std::size_t start = std::min(number * part_bytes, bytes);
        return {data + start, std::min(part_bytes, bytes - start)};
    }
};

/// Parts of a broadcast land in the two halves of the landing area in turn: one comes in while the
/// other goes out.
landing_place place_of_part(std::size_t number) { return {number % parcel_window * slot_bytes}; }
static_assert(parcel_window * slot_bytes <= landing_bytes);

}  // namespace

void message_tree::broadcast(std::span<std::byte> data, std::uint32_t root) {
    const std::uint32_t place =
        members_.own() >= root ? members_.own() - root : members_.own() + (members_.count() - root);
    const std::uint32_t children = binomial_tree::child_levels(place, members_.count());
    const bool is_root = place == 0;
    const neighbour parent{is_root ? 0 : binomial_tree::parent_level(place), direction::before};
    const parts all{data.data(), data.size(), slot_bytes};
    if (!is_root) {
        for (std::size_t i = 0; i < parcel_window; ++i) links_.invite(parent, all.at(i).size());
    }
    for (std::size_t i = 0; i < all.count(); ++i) {
        const std::span<std::byte> part = all.at(i);
        if (!is_root) {
            receive_copy(parent, part, place_of_part(i));
            links_.invite(parent, all.at(i + parcel_window).size());
        }
        // The child with the most below it comes first.
        for (std::uint32_t level = children; level-- > 0;) {
            links_.send({level, direction::after}, part, place_of_part(i));
        }
    }
}

/// Parts follow each other up and down the tree: a rank sends as many up before it waits for the
/// first to come back as are on their way while the tree is full.
void message_tree::all_reduce(std::byte* data, std::size_t count, const detail::reduction& how) {
    if (count == 0) return;
    const std::size_t element_bytes = how.element_bytes;
    const parts all{data, count * element_bytes, slot_bytes / element_bytes * element_bytes};
    const auto depth = static_cast<std::size_t>(std::bit_width(members_.count() - 1));
    const std::size_t ahead = std::min(2 * depth, all.count() - 1);
    for (std::size_t i = 0; i < all.count() + ahead; ++i) {
        const bool goes_up = i < all.count();
        if (goes_up) reduce_up(all.at(i), all.at(i).size() / element_bytes, how);
        if (i >= ahead) send_down(all.at(i - ahead), goes_up);
    }
}

void message_tree::receive_copy(neighbour from, std::span<std::byte> data, landing_place where) {
    neighbour_links::letter_copy copy;
    std::memcpy(data.data(), links_.receive(from, data.size(), copy, where), data.size());
}

/// Takes the children's partial results in, that of the next ranks first, and hands the sum on.
void message_tree::reduce_up(std::span<std::byte> part, std::size_t count,
                             const detail::reduction& how) {
    const std::size_t bytes = part.size();
    const std::uint32_t children = binomial_tree::child_levels(members_.own(), members_.count());
    const std::uint32_t at_once = landing_places(bytes);
    const auto invite = [&](std::uint32_t level) {
        if (level < children) links_.invite({level, direction::after}, bytes);
    };
    for (std::uint32_t level = 0; level < std::min(children, at_once); ++level) invite(level);
    for (std::uint32_t level = 0; level < children; ++level) {
        neighbour_links::letter_copy copy;
        const std::byte* right =
            links_.receive({level, direction::after}, bytes, copy, place_of_child(level, bytes));
        how.combine(how.operation, part.data(), part.data(), right, count);
        charge(flops(count));
        invite(level + at_once);  // its landing place is free again
    }
    if (members_.own() == 0) return;
    const std::uint32_t level = binomial_tree::parent_level(members_.own());
    links_.send({level, direction::before}, part, place_of_child(level, bytes));
}

/// The result goes the way back. @param is_answer whether a message has just come up the same way.
void message_tree::send_down(std::span<std::byte> part, bool is_answer) {
    if (members_.own() != 0) {
        const neighbour parent{binomial_tree::parent_level(members_.own()), direction::before};
        if (!is_answer) links_.invite(parent, part.size());
        receive_copy(parent, part, {});
    }
    for (std::uint32_t level = binomial_tree::child_levels(members_.own(), members_.count());
         level-- > 0;) {
        const neighbour child{level, direction::after};
        is_answer ? links_.answer(child, part) : links_.send(child, part);
    }
}

}  // namespace selion::collectives
