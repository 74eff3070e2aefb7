// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/operations.hpp"

#include <cstring>
#include <utility>

#include "machine/death_list.hpp"
#include "selion/counter.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::fabric {
namespace {

constexpr unsigned uses_shift = 32;

void count_done(detail::rank_context& server, counter* which) {
    if (which != nullptr) detail::count_together(server, counter_access::word(*which));
}

}  // namespace

pending_operation& operation_table::open() {
    const std::lock_guard lock(mutex_);
    if (free_operations_.empty()) return operations_.emplace_back();
    pending_operation& taken = *free_operations_.back();
    free_operations_.pop_back();
    // Not the whole of it: a thread that has just rung for its word may still look at the mark.
    taken.done.value = 0;
    taken.pieces_left = taken.before = 0;
    taken.is_awaited = false;
    taken.answer = nullptr;
    taken.origin = taken.completion = nullptr;
    taken.moves = 0;
    taken.is_lost = taken.is_left = false;
    return taken;
}

void operation_table::close(pending_operation& done) {
    const std::lock_guard lock(mutex_);
    free_operations_.push_back(&done);
}

std::uint64_t operation_table::draw_ticket(pending_operation& what, std::uint32_t peer, void* place,
                                           std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (free_tickets_.empty()) {
        free_tickets_.push_back(static_cast<std::uint32_t>(tickets_.size()));
        tickets_.emplace_back();
    }
    const std::uint32_t number = free_tickets_.back();
    free_tickets_.pop_back();
    ticket_place& drawn = tickets_[number];
    drawn = {drawn.uses + 1, peer, &what, place, bytes};
    what.peer = peer;
    return std::uint64_t{drawn.uses & 0x7fffffffu} << uses_shift | number;
}

operation_table::ticket_place operation_table::tear_off(std::uint64_t ticket, std::uint32_t peer,
                                                        std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto number = static_cast<std::uint32_t>(ticket);
    if (number >= tickets_.size()) return {};
    ticket_place& place = tickets_[number];
    const bool is_it = place.what != nullptr && place.peer == peer && place.bytes == bytes &&
                       (place.uses & 0x7fffffffu) == ticket >> uses_shift;
    if (!is_it) return {};
    const ticket_place found = place;
    place.what = nullptr;
    free_tickets_.push_back(number);
    return found;
}

bool operation_table::take_answer(detail::rank_context& server, std::uint64_t ticket,
                                  std::uint32_t peer, std::span<const std::byte> data) {
    const ticket_place torn = tear_off(ticket, peer, data.size());
    if (torn.what == nullptr) return false;
    if (!data.empty()) std::memcpy(torn.place, data.data(), data.size());
    end_piece(server, *torn.what);
    return true;
}

bool operation_table::take_value(detail::rank_context& server, std::uint64_t ticket,
                                 std::uint32_t peer, std::uint64_t before) {
    const ticket_place torn = tear_off(ticket, peer, 0);
    if (torn.what == nullptr) return false;
    pending_operation& what = *torn.what;
    what.before = before;
    if (what.answer != nullptr) std::memcpy(what.answer, &before, what.answer_bytes);
    end_piece(server, what);
    return true;
}

/// One that has been lost may be done early, before its last move is over. Then the two ends of it
/// meet here, so that its word is not stored to when it is another's.
void operation_table::end_piece(detail::rank_context& server, pending_operation& what,
                                bool is_lost) {
    counter* origin = nullptr;
    counter* completion = nullptr;
    bool was_lost = false;
    bool is_awaited = false;
    std::uint32_t peer = 0;
    {
        const std::lock_guard lock(mutex_);
        what.is_lost |= is_lost;
        if (--what.pieces_left != 0) return;
        was_lost = what.is_lost;
        is_awaited = what.is_awaited && !what.is_left;
        if (is_awaited) {
            if (was_lost) return detail::word_store(server, what.done, 1);
        } else {
            origin = what.origin;
            completion = what.completion;
            peer = what.peer;
            free_operations_.push_back(&what);
        }
    }
    if (was_lost) {
        deaths_->lose(peer, origin);
        deaths_->lose(peer, completion);
    } else if (is_awaited) {
        detail::word_store(server, what.done, 1);
    } else {
        count_done(server, origin);
        count_done(server, completion);
    }
}

void operation_table::begin_move(pending_operation& what) {
    const std::lock_guard lock(mutex_);
    ++what.moves;
}

void operation_table::end_move(detail::rank_context& server, pending_operation& what,
                               bool is_lost) {
    {
        const std::lock_guard lock(mutex_);
        --what.moves;
    }
    end_piece(server, what, is_lost);
}

bool operation_table::finish(pending_operation& done) {
    const std::lock_guard lock(mutex_);
    const bool is_lost = done.is_lost;
    if (done.pieces_left != 0) {
        done.is_left = true;
    } else {
        free_operations_.push_back(&done);
    }
    return is_lost;
}

void operation_table::lose_ticket(detail::rank_context& server, std::uint64_t ticket) {
    pending_operation* what = nullptr;
    {
        const std::lock_guard lock(mutex_);
        ticket_place& place = tickets_[static_cast<std::uint32_t>(ticket)];
        const bool is_open =
            place.what != nullptr && (place.uses & 0x7fffffffu) == ticket >> uses_shift;
        if (!is_open) return;
        what = std::exchange(place.what, nullptr);
        free_tickets_.push_back(static_cast<std::uint32_t>(ticket));
    }
    end_piece(server, *what, true);
}

void operation_table::lose_peer(detail::rank_context& server, std::uint32_t peer) {
    std::vector<pending_operation*> lost;  // once for each ticket
    {
        const std::lock_guard lock(mutex_);
        for (std::uint32_t number = 0; number < tickets_.size(); ++number) {
            ticket_place& place = tickets_[number];
            if (place.what == nullptr || place.peer != peer) continue;
            lost.push_back(std::exchange(place.what, nullptr));
            free_tickets_.push_back(number);
        }
        for (pending_operation& one : operations_) {
            if (one.moves == 0 || one.peer != peer || std::exchange(one.is_lost, true)) continue;
            deaths_->lose(peer, std::exchange(one.origin, nullptr));
            deaths_->lose(peer, std::exchange(one.completion, nullptr));
            if (one.is_awaited) detail::word_store(server, one.done, 1);
        }
    }
    for (pending_operation* const one : lost) end_piece(server, *one, true);
}

}  // namespace selion::machine::fabric
