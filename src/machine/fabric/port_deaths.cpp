// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "machine/fabric/port.hpp"
#include "selion/detail/word_access.hpp"

/// What becomes of frames and operations when a peer dies and the job lives on: "Deaths that are
/// reported" in protocol.md.
namespace selion::machine::fabric {
namespace {

/// Who waits for such a frame's answer learns of the death, so its sender need not.
std::uint64_t ticket_of(const frame_head& head) {
    if (head.kind == frame_kind::get) return head.operands[2];
    return head.kind == frame_kind::atomic ? head.operands[3] : no_ticket;
}

}  // namespace

/// @error status::rank_dead
void port::expect_alive(detail::rank_context& context, std::uint32_t peer) const {
    if (is_dead(peer) && !is_in_handler()) throw_death_of(context, peer);
}

/// It was to go to a peer that is dead. @error status::rank_dead, but for handlers, and for who
/// waits for an answer. Of a call that throws nothing is counted.
void port::lose_frame(detail::rank_context& context, std::uint32_t peer, const frame_head& head,
                      counter* completion) {
    if (is_in_handler()) around_.deaths->drop();
    const std::uint64_t ticket = ticket_of(head);
    if (ticket != no_ticket) return operations_.lose_ticket(context, ticket);
    expect_alive(context, peer);
    around_.deaths->lose(peer, completion);
}

/// By the provider: a send or a move has failed, or the endpoint has.
void port::note_failure(detail::rank_context& server, const endpoint_event& event) {
    const bool is_mortal = around_.deaths != nullptr;
    if (event.is_receive) {
        // Of whom, nobody knows: whoever reaches the port can bring it about. That one of the job
        // is gone others tell.
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    // Who is no longer there has left before the caller has heard that all may.
    if ((!is_mortal || event.peer == no_peer) && !is_leaving_) {
        around_.end_job(event.peer, std::string(event.why));
    }
    if (!is_mortal || event.peer == no_peer) return;
    if (!is_leaving_) around_.lose(event.peer, std::string(event.why));
    if (event.moved != nullptr) return end_move(server, event);
    const std::lock_guard lock(mutex_);
    --links_[event.peer]->buffers;
}

bool port::bury(detail::rank_context& server, std::uint32_t peer) {
    // As in `serve` [fabric.served]
    if (serving_.test_and_set(std::memory_order_acquire)) return false;
    {
        const std::lock_guard lock(mutex_);
        if (links_[peer] != nullptr) close_link(server, peer, *links_[peer]);
    }
    operations_.lose_peer(server, peer);
    serving_.clear(std::memory_order_release);  // [fabric.served]
    detail::word_add(server, news_, 1);
    return true;
}

/// @pre the lock is held.
void port::drop_unsent(detail::rank_context& server, std::uint32_t peer,
                       const outgoing_frame& frame, std::span<counter* const> completions) {
    for (counter* const completion : completions) around_.deaths->lose(peer, completion);
    if (frame.lent != nullptr) lent_.give_back(frame.lent);
    const auto drop = [&](const frame_head& head) {
        around_.deaths->drop();
        const std::uint64_t ticket = ticket_of(head);
        if (ticket != no_ticket) operations_.lose_ticket(server, ticket);
    };
    if (frame.head.kind != frame_kind::batch) return drop(frame.head);
    frame_head one;
    std::span<const std::byte> data;
    for (batch_reader batch(frame.head, frame.first); !batch.is_over();) {
        batch.next(one, data);
        drop(one);
    }
}

/// As if all had been taken. @pre the lock is held.
void port::close_link(detail::rank_context& server, std::uint32_t peer, peer_link& link) {
    for (class_account& account : link.classes) {
        for (const waiting_frame& frame : std::exchange(account.queue, {})) {
            drop_unsent(server, peer,
                        {.head = frame.head, .first = frame.following, .lent = frame.lent},
                        frame.completions);
        }
        if (!account.batch.is_empty()) {
            const open_batch& batch = account.batch;
            drop_unsent(server, peer, batch.frame(&account == &link.replies()),
                        batch.completions());
            spare_rooms_.push_back(account.batch.end());
        }
        account.batch_follows_requests = false;
        account.acked = account.wanted = account.asking = account.moving = account.sent;
        early_count_.fetch_sub(account.early.size(), std::memory_order_relaxed);
        account.early.clear();
        forget_pull(account);
        account.is_in_message = false;
        account.message_data = {};
    }
    take_back_lent(link);
    for (const auto& [number, counted] : std::exchange(link.completions, {})) {
        around_.deaths->lose(peer, counted);
    }
    link.owes_account = link.wants_account = link.is_early_asked = false;
    // The provider may keep those for it as long as it likes.
    around_.end.replace_buffers(link.buffers);
}

bool port::is_sending() {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(known_, [&](std::uint32_t peer) {
        return !is_dead(peer) && (links_[peer]->buffers != 0 || links_[peer]->has_waiting());
    });
}

}  // namespace selion::machine::fabric
