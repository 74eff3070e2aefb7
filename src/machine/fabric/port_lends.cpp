// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "machine/call_record.hpp"
#include "machine/fabric/card.hpp"
#include "machine/fabric/port.hpp"
#include "selion/detail/rank_context.hpp"

/// Long messages, whose data their targets read by themselves: "Lent messages" in protocol.md.
namespace selion::machine::fabric {
namespace {

/// Shorter ones go in frames: to be asked for the data costs a round trip.
constexpr std::size_t least_lent = 32 * 1024;
/// Nor is it worth while to have shorter data read where they lie: their owner waits for it.
constexpr std::size_t least_in_place = 64 * 1024;

}  // namespace

bool port::may_lend(const message_request& request) const {
    return request.bytes >= least_lent && has_moves() && around_.batch_begun;
}

/// A copy of a message's data, for its target to read. Who may wait does so until there is room, as
/// long as others have some: with none lent, it is the provider that refuses.
/// @return null: there is none, or the target is dead.
lent_buffer* port::lend_data(detail::rank_context& context, const message_request& request) {
    lent_buffer* buffer = nullptr;
    const auto attempt = [&] {
        if (!is_dead(request.target)) buffer = lent_.take(request.bytes);
        return buffer != nullptr || is_dead(request.target) || !lent_.are_lent();
    };
    bool is_over = false;
    {
        const std::lock_guard lock(mutex_);
        is_over = attempt() || is_in_handler();
    }
    if (!is_over) {
        const send_scope scope(*detail::current_context, request.site);
        wait_to(context, attempt, deadline_of_collective());
    }
    // Without the lock: it takes longer than others should wait for that.
    if (buffer != nullptr) std::memcpy(buffer->bytes.get(), request.data, request.bytes);
    return buffer;
}

/// @return false: nothing has been sent, and it has to go in frames.
bool port::post_lent(detail::rank_context& context, const message_request& request) {
    lent_buffer* const buffer = lend_data(context, request);
    if (buffer == nullptr) return false;
    const lent_place place{.key = buffer->key, .offset = 0};
    outgoing_frame frame;
    frame.head = message_head(frame_kind::lent_message, request);
    frame.first = request.arguments;
    frame.second = std::as_bytes(std::span(&place, 1));
    frame.lent = buffer;
    bool is_posted = false;
    const auto attempt = [&] {
        is_posted = !is_dead(request.target) &&
                    try_post(request.target, link_to(request.target), frame, nullptr, true);
        return is_posted || is_dead(request.target);
    };
    const auto take_back = [&] {
        const std::lock_guard lock(mutex_);
        lent_.give_back(buffer);
    };
    bool is_over = false;
    {
        const std::lock_guard lock(mutex_);
        is_over = is_in_handler();
        if (is_over) {
            post_or_queue(request.target, frame, nullptr);
        } else {
            is_over = attempt();
        }
        // Somebody has to look after the provider while the data are read.
        around_.batch_begun();
    }
    if (is_in_handler()) return true;
    try {
        if (!is_over) {
            const send_scope scope(*detail::current_context, request.site);
            wait_to(context, attempt, deadline_of_collective());
        }
    } catch (...) {
        take_back();
        throw;
    }
    if (!is_posted) take_back();
    expect_alive(context, request.target);
    return true;
}

/// Who may have to give up waiting for the reader would have to take the data from it.
std::optional<loan> port::lend(std::uint32_t peer, std::span<const std::byte> data) {
    const bool is_possible = data.size() >= least_in_place && has_moves() && !is_in_handler() &&
                             peer != around_.bounds.own_rank && around_.deaths == nullptr;
    if (!is_possible) return {};
    loan made{.key = draw_secret(), .offer = nullptr};
    // The provider only reads it.
    made.offer = around_.end.lend({const_cast<std::byte*>(data.data()), data.size()}, made.key);
    if (made.offer == nullptr) return {};
    return made;
}

void port::read_loan(detail::rank_context& context, std::uint32_t peer, std::uint64_t key,
                     std::span<std::byte> to, counter& done) {
    pending_operation& read = operations_.open();
    read.completion = &done;
    read.pieces_left = moves_of(to.size());
    start_read(context,
               {.peer = peer, .offset = 0, .own = to.data(), .bytes = to.size(), .key = key}, read);
}

/// What the peer has taken. @pre the lock is held.
void port::take_back_lent(peer_link& link) {
    for (class_account& account : link.classes) {
        while (!account.lent.empty() && has_reached(account.acked, account.lent.front().first)) {
            lent_.give_back(account.lent.front().second);
            account.lent.pop_front();
        }
    }
}

/// Nothing else of its class is taken until the data are there: that is the order of messages.
void port::take_lent(const frame_head& head, std::span<const std::byte> following) {
    const std::lock_guard lock(mutex_);
    peer_link& link = *links_[head.origin];
    class_account& account = link.of(class_of(head));
    if (account.is_in_message) {
        around_.end_job(head.origin, "a message began before the one before it was complete");
    }
    const std::size_t argument_bytes = head.operands[2];
    account.is_in_message = account.is_pulling = true;
    account.message = head;
    account.message_data.assign(following.begin(),
                                following.begin() + static_cast<std::ptrdiff_t>(argument_bytes));
    account.landing = landings_.take(head.operands[1], true);
    account.pull = {};
    account.pull.is_pull = true;
    account.pull.peer = head.origin;
    account.pull.which = class_of(head);
    std::memcpy(&account.pull.place, following.data() + argument_bytes, sizeof(lent_place));
    begin_pull(head.origin, link, account);
}

/// If there is one that has not begun: as soon as the provider takes it. @pre the lock is held.
void port::begin_pull(std::uint32_t peer, peer_link& link, class_account& account) {
    message_pull& pull = account.pull;
    if (!account.is_pulling || pull.has_begun || pull.is_lost) return;
    const memory_move move{.to = link.address,
                           .peer = peer,
                           .key = pull.place.key,
                           .offset = pull.place.offset,
                           .own = account.landing->bytes.get(),
                           .bytes = account.message.operands[1],
                           .is_read = true,
                           .what = &pull};
    std::string why;
    if (around_.end.try_move(move, why) == send_outcome::busy) {
        note_refusal(peer, why);
        return look_after(peer, link);
    }
    pull.has_begun = true;
}

void port::end_pull(detail::rank_context& server, message_pull& pull, bool has_failed) {
    peer_link& link = *links_[pull.peer];
    class_account& account = link.of(pull.which);
    const frame_head head = account.message;
    const bool is_whole = !has_failed && !pull.is_lost;
    if (is_whole) {
        const std::size_t bytes = head.operands[1];
        deliver(server, {.about = {head.origin, bytes, {account.landing->bytes.get(), bytes}},
                         .kind = head.detail,
                         .handler = head.operands[0],
                         .arguments = {account.message_data.data(), account.message_data.size()}});
    }
    {
        const std::lock_guard lock(mutex_);
        landings_.give_back(account.landing);
        account.is_in_message = account.is_pulling = false;
    }
    if (!is_whole) return;
    note_taken(server, link, head);
    take_early(server, link, account);
    if (!head.is_reply()) take_early(server, link, link.replies());
}

/// Its origin is dead. What the provider has begun to read it may go on reading. @pre the lock is
/// held.
void port::forget_pull(class_account& account) {
    if (!account.is_pulling) return;
    if (account.pull.has_begun) {
        account.pull.is_lost = true;
        return;
    }
    landings_.give_back(account.landing);
    account.is_pulling = false;
}

}  // namespace selion::machine::fabric
