// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "machine/fabric/batch.hpp"
#include "machine/fabric/lent_buffers.hpp"
#include "machine/fabric/operations.hpp"
#include "machine/fabric/wire.hpp"

namespace selion {
class counter;
}

/// The account of one rank with one other, without any network: what is on the way in either
/// direction, what waits, and what each knows of the other (protocol.md).
namespace selion::machine::fabric {

/// Frames of a class that may be sent and not known to be taken.
inline constexpr std::uint32_t window_frames = 64;
/// A frame may be so far ahead of the one whose turn it is: replies push requests out that the
/// window would keep.
inline constexpr std::uint32_t most_ahead = 1024;
/// Frames that are taken before the sender is told by a frame of its own.
inline constexpr std::uint32_t told_after = 16;
/// Send buffers that one peer may have.
inline constexpr std::uint32_t most_buffers = 16;

/// Numbers are modulo 2^32: `a` is not before `b`.
constexpr bool has_reached(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a - b) >= 0;
}

/// Whether a frame has been taken, is the next one, has overtaken others, or cannot be.
enum class turn : std::uint8_t { over, now, later, never };

enum class frame_class : std::uint8_t { request, reply };
constexpr frame_class class_of(const frame_head& head) {
    return head.is_reply() ? frame_class::reply : frame_class::request;
}

/// A lent message whose data are being read, before which no other frame of its class is taken.
struct message_pull : move_owner {
    std::uint32_t peer = 0;
    frame_class which = frame_class::request;
    lent_place place{};
    bool has_begun = false;  ///< the provider has taken it
    bool is_lost = false;    ///< its origin has died, and the provider has not told yet
};

/// A frame that could not leave, with a copy of what follows its head.
struct waiting_frame {
    frame_head head;
    std::vector<std::byte> following;
    frame_needs needs;
    std::vector<counter*> completions;
    bool follows_requests = false;  ///< a reply: requests that wait have to leave before it
    lent_buffer* lent = nullptr;
};

/// One class of frames between two ranks.
struct class_account {
    std::uint32_t sent = 0;    ///< number of the last one
    std::uint32_t wanted = 0;  ///< number of the last one that quiet waits for
    std::uint32_t asking = 0;  ///< number of the last one that asks for an account
    std::uint32_t moving = 0;  ///< number of the last one that a move must not overtake
    std::uint32_t acked = 0;   ///< the peer has said that it has taken so many
    std::uint32_t taken = 0;   ///< of the peer's
    std::uint32_t told = 0;    ///< what the peer has been told of that
    std::deque<waiting_frame> queue;
    open_batch batch;      ///< leaves after what is in the queue
    bool gathers = false;  ///< small frames join the batch: one has left since the last poll
    bool batch_follows_requests = false;  ///< as `waiting_frame::follows_requests`
    /// Frames that have overtaken others, by number: heads and what follows.
    std::map<std::uint32_t, std::vector<std::byte>> early;
    /// Data that are lent until the peer has taken the frame of that number.
    std::deque<std::pair<std::uint32_t, lent_buffer*>> lent;
    // A message whose parts have not all come, or whose data are being read.
    frame_head message{};
    std::vector<std::byte> message_data;
    std::size_t arrived_bytes = 0;
    bool is_in_message = false;
    bool is_pulling = false;
    message_pull pull{};
    lent_buffer* landing = nullptr;  ///< where the data that are being read go

    /// What a frame of this number is to the receiver.
    turn turn_of(std::uint32_t number) const {
        if (has_reached(taken, number)) return turn::over;
        const std::uint32_t before_it = number - taken - 1;
        if (before_it == 0) return is_pulling ? turn::over : turn::now;
        return before_it < most_ahead ? turn::later : turn::never;
    }
    bool has_window() const { return sent - acked < window_frames; }
    /// Whether something has not left yet.
    bool has_waiting() const { return !queue.empty() || !batch.is_empty(); }
    bool is_quiet() const { return has_reached(acked, wanted) && !has_waiting(); }
    /// Number of the last frame that quiet waits for now.
    std::uint32_t goal() const {
        if (!has_waiting()) return wanted;
        return sent + static_cast<std::uint32_t>(queue.size()) + (batch.is_empty() ? 0 : 1);
    }
    /// The peer has taken so many; it may be an old tale.
    void hear(std::uint32_t heard) {
        if (heard == acked || !has_reached(heard, acked)) return;
        acked = heard;
        // Near, because numbers go round.
        for (std::uint32_t* const number : {&wanted, &asking, &moving}) {
            if (has_reached(acked, *number)) *number = acked;
        }
    }
};

struct peer_link {
    std::uint64_t address = 0;  ///< of the provider
    std::array<class_account, 2> classes;
    std::uint64_t key = 0;        ///< of its memory; 0: it offers none
    std::uint32_t buffers = 0;    ///< send buffers on their way to it
    std::uint32_t reads = 0;      ///< moves from its memory under way
    std::uint32_t writes = 0;     ///< moves to its memory under way
    bool owes_account = false;    ///< it has asked, or is far behind
    bool is_early_asked = false;  ///< it has asked before what it asks about was taken
    bool wants_account = false;   ///< to be asked, once
    bool is_listed = false;       ///< among those that a poll looks after
    bool asks_at_once = false;    ///< the next request does: a quiet is likely to follow it
    bool has_guessed = false;     ///< that a quiet would follow the last request
    /// Counters that count once the request of that number has been taken.
    std::deque<std::pair<std::uint32_t, counter*>> completions;

    class_account& of(frame_class which) { return classes[static_cast<std::size_t>(which)]; }
    class_account& requests() { return of(frame_class::request); }
    class_account& replies() { return of(frame_class::reply); }

    /// Open batches of the other class. Each has a send buffer set aside, so that it can leave
    /// while the rank reads no news of the provider.
    std::uint32_t batches_beside(frame_class which) {
        const bool is_request = which == frame_class::request;
        return (is_request ? replies() : requests()).batch.is_empty() ? 0 : 1;
    }
    std::uint32_t open_batches() {
        return batches_beside(frame_class::request) + batches_beside(frame_class::reply);
    }
    bool is_quiet() { return requests().is_quiet() && replies().is_quiet() && reads == 0; }
    /// Whether it is not known to have taken all, fleeting frames too, or memory is being moved.
    bool is_owed() const {
        if (reads != 0 || writes != 0) return true;
        return std::ranges::any_of(classes, [](const class_account& one) {
            return one.acked != one.sent || one.has_waiting();
        });
    }
    bool has_waiting() { return requests().has_waiting() || replies().has_waiting(); }
    /// Whether data are to be read that the provider has not begun to read.
    bool has_unbegun_pull() const {
        return std::ranges::any_of(classes, [](const class_account& one) {
            return one.is_pulling && !one.pull.has_begun && !one.pull.is_lost;
        });
    }

    /// What a frame of the peer is to this rank now. A reply also waits for requests that were sent
    /// before it and are late: what its handler has put is there before whoever has the answer
    /// looks.
    turn turn_of(const frame_head& head) {
        const turn in_class = of(class_of(head)).turn_of(head.number);
        const std::uint32_t taken = requests().taken;
        if (in_class != turn::now || !head.may_follow() || has_reached(taken, head.follows)) {
            return in_class;
        }
        return head.follows - taken <= most_ahead ? turn::later : turn::never;
    }

    /// What the peer may be told of its requests: nothing new while a reply to it waits.
    std::uint32_t requests_to_tell() {
        return replies().has_waiting() ? requests().told : requests().taken;
    }
    /// Writes the account into a frame that is about to be sent. A reply counts itself: the request
    /// that it answers is taken once the reply is.
    void tell(frame_head& head) {
        // A batch that is not in the queue has all replies that wait.
        const bool has_all =
            head.kind == frame_kind::batch && head.is_reply() && replies().queue.empty();
        head.requests_taken = has_all ? requests().taken : requests_to_tell();
        head.replies_sent = replies().sent + (head.is_reply() ? 1 : 0);
        head.replies_taken = replies().taken;
    }
    /// The frame has left.
    void note_told(const frame_head& head) {
        requests().told = head.requests_taken;
        replies().told = head.replies_taken;
        if (requests().told == requests().taken) owes_account = false;
    }
    /// The peer asks whether all has been taken that it had sent before: at once, or as soon as
    /// that is so, because an account can overtake longer frames.
    void hear_question(const frame_head& head) {
        asked_requests = head.number;
        asked_replies = head.replies_sent;
        is_early_asked = true;
        look_at_question();
    }
    /// A frame has been taken.
    void look_at_question() {
        if (!is_early_asked) return;
        const bool is_early = !has_reached(requests().taken, asked_requests) ||
                              !has_reached(replies().taken, asked_replies);
        if (is_early) return;
        is_early_asked = false;
        owes_account = true;
    }
    /// Whether an account would tell the peer what it waits for. What it has asked about cannot be
    /// told while replies to it wait: such a frame would follow another for nothing.
    bool can_tell_more() { return is_far_behind() || (owes_account && !replies().has_waiting()); }
    bool is_far_behind() {
        return requests_to_tell() - requests().told >= told_after ||
               replies().taken - replies().told >= told_after;
    }
    /// Takes in what a frame of the peer tells. That requests were taken is believed once the
    /// replies are there which were sent before the frame: it may have overtaken them.
    /// @return false: of frames that were never sent.
    bool hear(const frame_head& head) {
        const bool is_possible = has_reached(requests().sent, head.requests_taken) &&
                                 has_reached(replies().sent, head.replies_taken);
        if (!is_possible) return false;
        replies().hear(head.replies_taken);
        advance(believed_after, head.replies_sent);
        advance(heard_taken, head.requests_taken);
        believe();
        return true;
    }
    /// A reply has been taken.
    void believe() {
        if (has_reached(replies().taken, believed_after)) requests().hear(heard_taken);
    }

private:
    static void advance(std::uint32_t& number, std::uint32_t heard) {
        if (has_reached(heard, number)) number = heard;
    }

    std::uint32_t asked_requests = 0;  ///< the peer's question is about these
    std::uint32_t asked_replies = 0;
    std::uint32_t heard_taken = 0;     ///< of the own requests
    std::uint32_t believed_after = 0;  ///< replies of the peer that have to be there before
};

}  // namespace selion::machine::fabric
