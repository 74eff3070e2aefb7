// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "machine/call_record.hpp"
#include "machine/fabric/port.hpp"
#include "selion/detail/word_access.hpp"

/// Long transfers, which the provider makes by itself: "Moves" in protocol.md.
namespace selion::machine::fabric {
namespace {

/// Bytes of one move: lengths of providers' calls are of 32 bits in places.
constexpr std::size_t most_moved = std::size_t{256} << 20;

}  // namespace

bool port::can_move(std::uint32_t peer, std::size_t bytes) {
    if (bytes <= most_following || is_in_handler() || !around_.end.can_move()) return false;
    const std::lock_guard lock(mutex_);
    return link_to(peer).key != 0;
}

std::uint64_t port::moves_of(std::size_t bytes) { return (bytes + most_moved - 1) / most_moved; }

/// Whether nothing is on its way that a move would be wrong to come before. @pre the lock is held.
bool port::may_overtake(peer_link& link, bool is_read) {
    const class_account& requests = link.requests();
    return !requests.has_waiting() &&
           has_reached(requests.acked, is_read ? requests.wanted : requests.moving);
}

void port::await_overtaken(detail::rank_context& context, std::uint32_t peer, bool is_read) {
    std::vector<quiet_goal> goals;
    {
        const std::lock_guard lock(mutex_);
        peer_link& link = link_to(peer);
        if (may_overtake(link, is_read)) return;
        const class_account& requests = link.requests();
        const bool is_all = is_read || requests.has_waiting();
        goals.push_back({.peer = peer,
                         .requests = is_all ? requests.goal() : requests.moving,
                         .replies = link.replies().acked,
                         .with_reads = false});
    }
    await_goals(context, goals, no_deadline);  // the move has been promised
}

/// @param after the frame that comes next, or null.
void port::begin_move(detail::rank_context& context, memory_move move, const outgoing_frame* after,
                      counter* completion) {
    auto& what = static_cast<pending_operation&>(*move.what);
    const bool is_of_loan = move.key != 0;  // its data stay as they are, whatever is under way
    bool has_begun = false;
    // Another thread of the rank may send what the move must not overtake, so it looks again.
    const auto attempt = [&] {
        if (is_dead(move.peer)) return true;
        peer_link& link = link_to(move.peer);
        if (!is_of_loan && !may_overtake(link, move.is_read)) return true;
        move.to = link.address;
        if (!is_of_loan) move.key = link.key;
        std::string why;
        if (around_.end.try_move(move, why) == send_outcome::busy) {
            note_refusal(move.peer, why);
            return false;
        }
        has_begun = true;
        operations_.begin_move(what);
        ++(move.is_read ? link.reads : link.writes);
        if (after != nullptr) post_or_queue(move.peer, *after, completion);
        return true;
    };
    const send_scope scope(*detail::current_context, {});
    while (!has_begun) {
        if (is_dead(move.peer)) {
            if (after != nullptr) around_.deaths->lose(move.peer, completion);
            return operations_.end_piece(context, what, true);
        }
        if (!is_of_loan) await_overtaken(context, move.peer, move.is_read);
        wait_to(context, attempt, no_deadline);
    }
}

void port::write(detail::rank_context& context, const long_transfer& what,
                 const outgoing_frame& after, counter* completion) {
    for (std::size_t done = 0; done < what.bytes;) {
        const std::size_t bytes = std::min(what.bytes - done, most_moved);
        pending_operation& written = operations_.open();
        written.is_awaited = true;
        written.peer = what.peer;
        written.pieces_left = 1;
        const bool is_last = done + bytes == what.bytes;
        begin_move(context,
                   {.peer = what.peer,
                    .offset = what.offset + done,
                    .own = what.own + done,
                    .bytes = bytes,
                    .is_read = false,
                    .what = &written},
                   is_last ? &after : nullptr, completion);
        try {
            await_operation(context, operations_, written);
        } catch (const error&) {
            if (completion == nullptr) throw;  // else who waits for that learns of it
            if (!is_last) around_.deaths->lose(what.peer, completion);
            return;
        }
        done += bytes;
    }
    await_departure(context, what.peer);
}

/// The frame after a move could not wait for room while that began. Left behind, it would stay for
/// as long as the rank computes.
void port::await_departure(detail::rank_context& context, std::uint32_t peer) {
    const auto attempt = [&] {
        if (is_dead(peer)) return true;
        peer_link& link = link_to(peer);
        return !link.requests().has_waiting() || may_stay_behind(link, frame_class::request) ||
               try_send_waiting(peer, link, frame_class::request);
    };
    wait_to(context, attempt, no_deadline);
}

void port::start_read(detail::rank_context& context, const long_transfer& what,
                      pending_operation& operation) {
    operation.peer = what.peer;
    // The operation may be closed as soon as the last piece has begun.
    for (std::size_t done = 0; done < what.bytes; done += most_moved) {
        begin_move(context,
                   {.peer = what.peer,
                    .key = what.key,
                    .offset = what.offset + done,
                    .own = what.own + done,
                    .bytes = std::min(what.bytes - done, most_moved),
                    .is_read = true,
                    .what = &operation},
                   nullptr, nullptr);
    }
}

void port::end_move(detail::rank_context& server, const endpoint_event& event) {
    const bool has_failed = event.what == endpoint_event::kind::failed;
    if (event.moved->is_pull) {
        return end_pull(server, static_cast<message_pull&>(*event.moved), has_failed);
    }
    {
        const std::lock_guard lock(mutex_);
        peer_link& link = *links_[event.peer];
        --(event.is_read ? link.reads : link.writes);
    }
    operations_.end_move(server, static_cast<pending_operation&>(*event.moved), has_failed);
}

std::uint64_t await_operation(detail::rank_context& context, operation_table& table,
                              pending_operation& what) {
    // A completion handler that has come ends a wait early; it runs in a later one.
    while (detail::word_load(what.done) == 0) {
        context.clock->wait(context,
                            {.word = what.done, .at_least = 1, .reason = wait_reason::message});
    }
    const std::uint32_t peer = what.peer;
    const std::uint64_t before = what.before;
    if (table.finish(what)) throw_death_of(context, peer);
    return before;
}

}  // namespace selion::machine::fabric
