// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "collectives/schedules/parts.hpp"

namespace selion::collectives {
namespace {

/// Pairs need a power of two. Where ranks are more, the first ones go two by two: the odd one gives
/// its part to the even one, and gets its result from it. Who is left is a *participant*; those
/// that it stands for are neighbours in number.
class participants {
public:
    participants(std::uint32_t ranks, std::uint32_t rank)
        : count_(std::bit_floor(ranks)), doubled_(ranks - count_), rank_(rank) {}

    std::uint32_t count() const { return count_; }
    bool is_folded() const { return rank_ < 2 * doubled_; }
    bool takes_part() const { return !is_folded() || rank_ % 2 == 0; }
    std::uint32_t partner_in_fold() const { return rank_ ^ 1; }
    std::uint32_t own() const { return is_folded() ? rank_ / 2 : rank_ - doubled_; }
    std::uint32_t rank_of(std::uint32_t participant) const {
        return participant < doubled_ ? 2 * participant : participant + doubled_;
    }
    /// Blocks of the ranks that `many` participants stand for.
    block_range blocks_of(std::uint32_t participant, std::uint32_t many) const {
        const std::uint32_t first = rank_of(participant);
        return {first, rank_of(participant + many) - first};
    }

private:
    std::uint32_t count_;
    std::uint32_t doubled_;  ///< participants that stand for two
    std::uint32_t rank_;
};

block_action action_from(std::uint32_t partner, std::uint32_t own) {
    return partner > own ? block_action::combine_after : block_action::combine_before;
}

void append_fold(rank_schedule& own, const participants& who, const block_range& blocks,
                 block_action action) {
    if (!who.is_folded()) return;
    schedule_message message{who.partner_in_fold(), {blocks}, action};
    who.takes_part() ? append_receive(own, message) : append_send(own, message);
}

void append_unfold(rank_schedule& own, const participants& who,
                   const std::vector<block_range>& blocks) {
    if (!who.is_folded()) return;
    schedule_message message{who.partner_in_fold(), blocks};
    who.takes_part() ? append_send(own, message) : append_receive(own, message);
}

/// All with all their blocks; contributions stay in order.
void append_doubling_reduce(rank_schedule& own, const participants& who, block_range blocks) {
    for (std::uint32_t distance = 1; distance < who.count(); distance *= 2) {
        const std::uint32_t partner = who.own() ^ distance;
        append_swap(own, {who.rank_of(partner), {blocks}, action_from(who.own(), partner)},
                    {who.rank_of(partner), {blocks}, action_from(partner, who.own())});
    }
}

/// Each partner keeps one half of the blocks that both have.
void append_halving(rank_schedule& own, const participants& who) {
    for (std::uint32_t distance = who.count() / 2; distance != 0; distance /= 2) {
        const std::uint32_t partner = who.own() ^ distance;
        const auto half_of = [&](std::uint32_t participant) {
            return who.blocks_of(participant / distance * distance, distance);
        };
        append_swap(own,
                    {who.rank_of(partner), {half_of(partner)}, action_from(who.own(), partner)},
                    {who.rank_of(partner), {half_of(who.own())}, action_from(partner, who.own())});
    }
}

/// Each partner gets what the other one has.
void append_doubling_gather(rank_schedule& own, const participants& who) {
    for (std::uint32_t distance = 1; distance < who.count(); distance *= 2) {
        const std::uint32_t partner = who.own() ^ distance;
        const auto part_of = [&](std::uint32_t participant) {
            return who.blocks_of(participant / distance * distance, distance);
        };
        append_swap(own, {who.rank_of(partner), {part_of(who.own())}},
                    {who.rank_of(partner), {part_of(partner)}});
    }
}

/// What the last swap of halves has left to a participant, of as many blocks as there are: swapped
/// with the neighbour first, so that what is combined are always neighbours in number.
class halved_vector {
public:
    explicit halved_vector(std::uint32_t count) : own_{0, count} {}

    /// @param keeps_upper which half. @return the other one.
    block_range halve(bool keeps_upper) {
        own_.count /= 2;
        block_range other = own_;
        (keeps_upper ? own_ : other).first += own_.count;
        return other;
    }
    /// What its partner has kept.
    block_range other() const { return {own_.first ^ own_.count, own_.count}; }
    void join() {
        own_.first &= ~own_.count;
        own_.count *= 2;
    }
    block_range own() const { return own_; }

private:
    block_range own_;
};

void append_vector_halving(rank_schedule& own, const participants& who) {
    halved_vector vector(who.count());
    for (std::uint32_t distance = 1; distance < who.count(); distance *= 2) {
        const std::uint32_t partner = who.own() ^ distance;
        const block_range given = vector.halve((who.own() & distance) != 0);
        append_swap(own, {who.rank_of(partner), {given}, action_from(who.own(), partner)},
                    {who.rank_of(partner), {vector.own()}, action_from(partner, who.own())});
    }
    for (std::uint32_t distance = who.count() / 2; distance != 0; distance /= 2) {
        const std::uint32_t partner = who.rank_of(who.own() ^ distance);
        append_swap(own, {partner, {vector.own()}}, {partner, {vector.other()}});
        vector.join();
    }
}

/// All halve their vectors.
rank_schedule make_vector_halving(const schedule_request& request, std::uint32_t rank) {
    const participants who(request.ranks, rank);
    const block_range all{0, who.count()};
    rank_schedule own{all.count, {}};
    append_fold(own, who, all, block_action::combine_after);
    if (who.takes_part()) append_vector_halving(own, who);
    append_unfold(own, who, {all});
    return own;
}

rank_schedule make_reduction(const schedule_request& request, std::uint32_t rank) {
    const participants who(request.ranks, rank);
    const bool halves = request.algorithm == schedule_algorithm::recursive_halving;
    const std::uint64_t blocks = halves ? request.ranks : 1;
    const block_range all{0, blocks};
    rank_schedule own{blocks, {}};
    append_fold(own, who, all, block_action::combine_after);
    if (who.takes_part()) {
        halves ? append_halving(own, who) : append_doubling_reduce(own, who, all);
    }
    if (request.collective == collective_kind::reduce_scatter) {
        const std::uint32_t odd = rank | 1;
        append_unfold(own, who, {{odd, 1}});
        return own;
    }
    if (halves && who.takes_part()) append_doubling_gather(own, who);
    append_unfold(own, who, {all});
    return own;
}

rank_schedule make_all_gather(const schedule_request& request, std::uint32_t rank) {
    const participants who(request.ranks, rank);
    rank_schedule own{request.ranks, {}};
    const std::uint32_t odd = rank | 1;
    append_fold(own, who, {odd, 1}, block_action::store);
    if (who.takes_part()) append_doubling_gather(own, who);
    append_unfold(own, who, {{(odd + 1) % request.ranks, request.ranks - 1}});
    return own;
}

}  // namespace

rank_schedule make_doubling_schedule(const schedule_request& request, std::uint32_t rank) {
    if (request.collective == collective_kind::all_gather) return make_all_gather(request, rank);
    return request.algorithm == schedule_algorithm::vector_halving
               ? make_vector_halving(request, rank)
               : make_reduction(request, rank);
}

}  // namespace selion::collectives
