// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "machine/fabric/port.hpp"
#include "selion/detail/rank_context.hpp"

/// How frames leave: one by one, in batches, or later.
namespace selion::machine::fabric {
namespace {

/// Nobody waits for a put without a signal before its origin does more, nor for a patient one. Of
/// other small frames the first one since the last poll leaves at once, and so do fleeting ones,
/// which others wait for, with what has gathered. @param frame a small one
bool joins_batch(const class_account& account, const outgoing_frame& frame) {
    const frame_head& head = frame.head;
    const bool is_plain = head.kind == frame_kind::put && head.operands[1] == detail::null_address;
    return !account.batch.is_empty() || is_plain || frame.is_patient ||
           (account.gathers && !frame.is_fleeting);
}

/// What a handler did is visible to who has its reply: what it has put there is to leave before.
bool follows_requests(peer_link& link, const outgoing_frame& frame) {
    return frame.head.may_follow() && link.requests().has_waiting();
}

/// Of a number that others read meanwhile. @pre the port's lock is held.
void count_up(std::uint64_t& number, std::uint64_t amount) {
    std::atomic_ref(number).store(number + amount, std::memory_order_relaxed);
}
void count_up(std::atomic<std::uint64_t>& number) {
    number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// A copy of a frame that cannot leave now.
waiting_frame kept(const outgoing_frame& frame, const frame_needs& needs,
                   std::span<counter* const> completions, bool follows_requests) {
    waiting_frame copy{frame.head,       {},        needs, {completions.begin(), completions.end()},
                       follows_requests, frame.lent};
    copy.following.reserve(frame.first.size() + frame.second.size());
    copy.following.insert(copy.following.end(), frame.first.begin(), frame.first.end());
    copy.following.insert(copy.following.end(), frame.second.begin(), frame.second.end());
    return copy;
}

}  // namespace

/// The frame leaves now, or joins those that leave together, or nothing happens. @param may_wait
/// whether the caller can, and will. @pre the lock is held.
bool port::try_post(std::uint32_t peer, peer_link& link, const outgoing_frame& frame,
                    counter* completion, bool may_wait) {
    const frame_class which = class_of(frame.head);
    class_account& account = link.of(which);
    const bool is_small = around_.batch_begun && may_be_batched(frame);
    if (is_small && joins_batch(account, frame)) {
        if (!try_gather(peer, link, frame, completion, may_wait)) return false;
        if (frame.is_fleeting && account.queue.empty()) try_send_batch(peer, link, which);
        return true;
    }
    if (account.has_waiting() && (!account.queue.empty() || !try_send_batch(peer, link, which))) {
        return false;
    }
    if (follows_requests(link, frame) && !push_requests(peer, link)) return false;
    const std::span<counter* const> completions(&completion, completion == nullptr ? 0 : 1);
    if (!try_send(peer, link, frame, needs_of(frame), completions)) return false;
    if (is_small && !frame.is_fleeting) gather_after(peer, link, account);
    return true;
}

/// Whether a batch could leave while the rank computes: a thread sends it that reads no news of the
/// provider, so nothing that only such news change may stand in its way. @pre the lock is held.
bool port::may_stay_behind(peer_link& link, frame_class which) const {
    const class_account& account = link.of(which);
    return account.queue.empty() && account.has_window() &&
           link.buffers + link.batches_beside(which) < most_buffers && around_.end.has_buffer();
}

/// @pre the lock is held.
bool port::try_gather(std::uint32_t peer, peer_link& link, const outgoing_frame& frame,
                      counter* completion, bool may_wait) {
    const frame_class which = class_of(frame.head);
    class_account& account = link.of(which);
    if (!account.batch.fits(frame) &&
        (!account.queue.empty() || !try_send_batch(peer, link, which))) {
        return false;
    }
    if (account.batch.is_empty()) {
        // Who cannot wait leaves it to the rank's next poll.
        if (may_wait && !may_stay_behind(link, which)) return false;
        if (spare_rooms_.empty()) spare_rooms_.push_back(std::make_unique<batch_room>());
        account.batch.begin(std::move(spare_rooms_.back()), batch_time_);
        spare_rooms_.pop_back();
        count_up(batches_);
        look_after(peer, link);
        around_.batch_begun();
    }
    account.batch.add(frame, completion);
    account.batch_follows_requests |= follows_requests(link, frame);
    count_up(batched_);
    return true;
}

/// The batch of a class, if there is one, leaves now, or nothing happens. @return whether there is
/// none any more. @pre the lock is held; nothing is in the queue of the class.
bool port::try_send_batch(std::uint32_t peer, peer_link& link, frame_class which, bool is_pushed) {
    class_account& account = link.of(which);
    open_batch& batch = account.batch;
    if (batch.is_empty()) return true;
    if (account.batch_follows_requests && !push_requests(peer, link)) return false;
    const outgoing_frame whole = batch.frame(which == frame_class::reply);
    if (!try_send(peer, link, whole, batch.needs(), batch.completions(), is_pushed)) return false;
    spare_rooms_.push_back(batch.end());
    account.batch_follows_requests = false;
    return true;
}

/// What waits in a class leaves, as far as it can. @param is_pushed beyond the window. @return
/// whether nothing waits any more. @pre the lock is held.
bool port::try_send_waiting(std::uint32_t peer, peer_link& link, frame_class which,
                            bool is_pushed) {
    class_account& account = link.of(which);
    for (; !account.queue.empty(); account.queue.pop_front()) {
        const waiting_frame& next = account.queue.front();
        if (next.follows_requests && !push_requests(peer, link)) return false;
        const outgoing_frame frame{.head = next.head, .first = next.following, .lent = next.lent};
        if (!try_send(peer, link, frame, next.needs, next.completions, is_pushed)) return false;
    }
    return try_send_batch(peer, link, which, is_pushed);
}

/// The next frame of its class leaves now, or nothing happens. @pre the lock is held.
bool port::try_send(std::uint32_t peer, peer_link& link, const outgoing_frame& frame,
                    const frame_needs& needs, std::span<counter* const> completions,
                    bool is_pushed) {
    class_account& account = link.of(class_of(frame.head));
    const bool has_window = is_pushed || account.has_window();
    const std::uint32_t set_aside = link.batches_beside(class_of(frame.head));
    if (!has_window || link.buffers + set_aside >= most_buffers) return false;
    outgoing_frame numbered = frame;
    frame_head& head = numbered.head;
    head.secret = around_.bounds.secret;
    head.origin = around_.bounds.own_rank;
    head.number = account.sent + 1;
    head.bytes = static_cast<std::uint32_t>(frame.first.size() + frame.second.size());
    if (head.may_follow()) head.follows = link.requests().sent;
    const bool asks_at_once = link.asks_at_once && has_reached(account.acked, account.sent);
    const bool is_awaited = !completions.empty() || frame.lent != nullptr;
    if (is_awaited || (asks_at_once && needs.account)) head.flags |= asks_flag;
    link.tell(head);
    std::string why;
    const auto attempt = [&] { return around_.end.try_send(link.address, peer, numbered, why); };
    send_outcome outcome = attempt();
    if (outcome == send_outcome::busy && link.buffers == 0 && !around_.end.has_buffer()) {
        around_.end.replace_buffers(1);  // peers that do not listen have them all
        outcome = attempt();
    }
    if (outcome == send_outcome::busy) {
        note_refusal(peer, why);
        return false;
    }
    ++account.sent;
    if (needs.quiet) account.wanted = account.sent;
    if (needs.effect) account.moving = account.sent;
    if (head.asks()) account.asking = account.sent;
    if (needs.account) {
        // Only a quiet makes the next one ask again.
        link.has_guessed = asks_at_once;
        link.asks_at_once = false;
    }
    ++link.buffers;
    link.note_told(head);
    for (counter* const completion : completions) {
        link.completions.emplace_back(head.number, completion);
    }
    if (frame.lent != nullptr) account.lent.emplace_back(head.number, frame.lent);
    return true;
}

/// It waits in its turn. @pre the lock is held; there is one.
void port::queue_batch(class_account& account, bool is_reply) {
    const open_batch& batch = account.batch;
    account.queue.push_back(kept(batch.frame(is_reply), batch.needs(), batch.completions(),
                                 account.batch_follows_requests));
    spare_rooms_.push_back(account.batch.end());
    account.batch_follows_requests = false;
}

/// For those who must not wait. @return whether it has left, or is in a batch. @pre the lock is
/// held.
bool port::post_or_queue(std::uint32_t peer, const outgoing_frame& frame, counter* completion) {
    if (is_dead(peer)) {
        around_.deaths->drop();
        around_.deaths->lose(peer, completion);
        if (frame.lent != nullptr) lent_.give_back(frame.lent);
        return true;
    }
    peer_link& link = link_to(peer);
    if (try_post(peer, link, frame, completion, false)) return true;
    class_account& account = link.of(class_of(frame.head));
    if (!account.batch.is_empty()) queue_batch(account, frame.head.is_reply());
    const std::span<counter* const> completions(&completion, completion == nullptr ? 0 : 1);
    account.queue.push_back(
        kept(frame, needs_of(frame), completions, follows_requests(link, frame)));
    look_after(peer, link);
    return false;
}

bool port::gather(std::uint32_t peer, const detail::put_request& request) {
    if (request.bytes > most_batched || request.signal != detail::null_address) return false;
    const std::lock_guard lock(mutex_);
    if (links_[peer] == nullptr || is_dead(peer)) return false;
    open_batch& batch = links_[peer]->requests().batch;
    if (batch.is_empty() || !batch.fits(request.bytes)) return false;
    batch.add_put(request.target, {static_cast<const std::byte*>(request.source), request.bytes},
                  request.completion);
    count_up(batched_);
    note(meters::sent_kind::put, request.bytes);
    return true;
}

void port::note_sent(meters::sent_kind kind, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    note(kind, bytes);
}

/// @pre the lock is held.
void port::note(meters::sent_kind kind, std::size_t bytes) {
    meters::sent_messages::amount& amount = sent_.by_kind[static_cast<std::size_t>(kind)];
    count_up(amount.messages, 1);
    count_up(amount.bytes, bytes);
}

/// Sends what waits, as far as it can. @pre the lock is held.
void port::flush(std::uint32_t peer, peer_link& link) {
    for (const frame_class which : {frame_class::reply, frame_class::request}) {
        if (try_send_waiting(peer, link, which)) link.of(which).gathers = false;
    }
}

bool port::send_old_batches() {
    bool needs_provider = false;
    const bool has_open = send_old_batches(needs_provider);
    // A connection comes about only while somebody looks at the network, and the rank may compute.
    // As in `serve` [fabric.served]
    if (needs_provider && !serving_.test_and_set(std::memory_order_acquire)) {
        around_.end.drive();
        serving_.clear(std::memory_order_release);  // [fabric.served]
    }
    return has_open;
}

/// @param needs_provider set if an old one could not leave, or others read memory of this rank.
bool port::send_old_batches(bool& needs_provider) {
    const std::lock_guard lock(mutex_);
    bool has_open = false;
    for (const std::uint32_t peer : listed_) {
        if (is_dead(peer)) continue;
        peer_link& link = *links_[peer];
        for (const frame_class which : {frame_class::reply, frame_class::request}) {
            const class_account& account = link.of(which);
            const bool is_old = account.batch.begun() != batch_time_;
            if (account.batch.is_empty() || !is_old) {
                has_open |= !account.batch.is_empty();
                continue;
            }
            // Other peers may have taken the buffers that there were when it was begun.
            if (!around_.end.has_buffer()) around_.end.replace_buffers(1);
            if (!try_send_waiting(peer, link, which)) needs_provider = true;
            has_open |= !account.batch.is_empty();
        }
    }
    ++batch_time_;
    // Who reads what is lent needs the provider of this rank, which may compute.
    if (!lent_.are_lent()) return has_open;
    needs_provider = true;
    return true;
}

}  // namespace selion::machine::fabric
