// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "machine/machine.hpp"
#include "selion/detail/shared_word.hpp"

/// A bounded queue of messages in shared memory: any number of senders, one receiver at a time.
/// The steps stand here once, over an `Access` that supplies the atomics: std's in the library,
/// those of a model checker in tests/model. Why it loses nothing: messages.md.
namespace selion::machine::node {

inline constexpr std::uint64_t ring_slots = 512;
/// Of the row: slots that a sender uses again and again while its partner answers.
inline constexpr std::uint64_t row_slots = 8;

/// Where the data of a message lie until its target has seen them.
enum class data_place : std::uint8_t {
    nowhere,
    pool,     ///< in a pool of the sender's carrier: offset in the mapping
    mapping,  ///< where the sender has them: offset in the mapping
    process,  ///< likewise: address in the process of both
};

/// What a message has at most in its first line.
inline constexpr std::size_t few_argument_bytes = 32;

/// The ranks of a message. As one word it can be stored at once.
struct message_ends {
    std::uint32_t origin;
    std::uint32_t target;
};

/// What a message says of itself: likewise.
struct message_about {
    std::uint16_t kind;
    std::uint8_t argument_bytes;
    data_place place;   ///< of its data
    bool next_in_row;   ///< where the message after it is
    bool tells_counts;  ///< behind the arguments are `row_counts`

    /// Whether there is more of it than a slot holds.
    constexpr bool has_rest() const {
        return argument_bytes > few_argument_bytes || place != data_place::nowhere;
    }
    // As a word.
    static constexpr std::uint64_t next_in_row_word(bool is) { return std::uint64_t{is} << 32; }
    static constexpr std::uint64_t tells_counts_word = std::uint64_t{1} << 40;
};
static_assert(std::endian::native == std::endian::little, "the words of a message");
static_assert(offsetof(message_about, argument_bytes) == 2 && offsetof(message_about, place) == 3 &&
              offsetof(message_about, next_in_row) == 4 &&
              offsetof(message_about, tells_counts) == 5);

inline constexpr std::size_t cache_line_bytes = 64;

/// How many messages a message's sender has taken from the rows of its target's two rings.
struct row_counts {
    std::uint64_t requests;
    std::uint64_t replies;

    std::uint64_t sum() const { return requests + replies; }
};
/// Where they lie in the arguments.
inline constexpr std::size_t counts_offset = few_argument_bytes - sizeof(row_counts);

/// One message: all of a short one, which comes over in one piece.
struct alignas(cache_line_bytes) message_slot {
    std::uint64_t sequence;  ///< ticket + 1 once the message of that ticket is complete
    alignas(8) message_ends ends;
    alignas(16) message_about about;
    alignas(8) std::uint64_t handler;
    alignas(16) std::byte arguments[few_argument_bytes];
};
static_assert(sizeof(message_slot) == cache_line_bytes);

/// What a longer message has beside it. Not in line with the slots: rows of short messages use half
/// the cache, and are lines one behind the other, which processors fetch ahead.
struct alignas(cache_line_bytes) message_rest {
    std::byte arguments[most_argument_bytes - few_argument_bytes];
    std::uint64_t data;  ///< see `data_place`; set if there are any
    std::uint64_t data_bytes;
};
static_assert(sizeof(message_rest) == cache_line_bytes);

struct message_ring {
    /// Senders draw tickets here.
    alignas(detail::line_bytes) std::uint64_t tail;
    std::uint64_t known_consumed;  ///< as far as senders have looked
    // Of a sender that uses the row, and has the ring for itself.
    std::uint64_t row_tail;   ///< tickets of the row
    std::uint64_t row_known;  ///< of which so many have been taken, as it was told
    bool next_in_row;
    /// Messages that the receiver is done with; its slots are free. Senders wait on it.
    alignas(detail::line_bytes) detail::shared_word consumed;
    alignas(detail::line_bytes) message_slot row[row_slots];
    message_slot slots[ring_slots];
    message_rest row_rests[row_slots];
    message_rest rests[ring_slots];  ///< of the slots

    message_slot& slot(bool in_row, std::uint64_t ticket) {
        return in_row ? row[ticket % row_slots] : slots[ticket % ring_slots];
    }
    message_rest& rest(bool in_row, std::uint64_t ticket) {
        return in_row ? row_rests[ticket % row_slots] : rests[ticket % ring_slots];
    }
};

/// The numbers of slots.
struct ring_shape {
    std::uint64_t slots = ring_slots;
    std::uint64_t row = row_slots;
};

/// Where a message goes: the slot that its ticket, of the row or not, stands for.
struct drawn_ticket {
    std::uint64_t ticket = 0;
    bool in_row = false;
    bool next_in_row = false;  ///< so will the message after it be
};

namespace ring_protocol {

/// Sender: whether the slot of a ticket that is not of the row is free. Looks if need be.
template <class Access, class Ring>
[[gnu::always_inline]] inline bool is_free(Access& access, Ring& ring, std::uint64_t ticket,
                                           ring_shape shape) {
    if (ticket - access.known_consumed(ring) < shape.slots) return true;
    const std::uint64_t consumed = access.consumed(ring);
    access.set_known_consumed(ring, consumed);
    return ticket - consumed < shape.slots;
}

/// Sender: whether a slot is free now.
template <class Access, class Ring>
bool has_room(Access& access, Ring& ring, ring_shape shape) {
    return (access.uses_row && access.next_in_row(ring)) ||
           is_free(access, ring, access.tail(ring), shape);
}

/// Sender: draws a ticket if its slot is free. @return whether it has one.
template <class Access, class Ring>
[[gnu::always_inline]] inline bool draw(Access& access, Ring& ring, ring_shape shape,
                                        drawn_ticket& drawn) {
    std::uint64_t ticket = access.tail(ring);
    do {
        if (!is_free(access, ring, ticket, shape)) return false;
    } while (!access.advance_tail(ring, ticket));
    drawn = {.ticket = ticket};
    return true;
}

/// Sender: whether the row has room for a message behind so many.
template <class Access, class Ring>
[[gnu::always_inline]] inline bool has_row_left(Access& access, Ring& ring, ring_shape shape,
                                                std::uint64_t row_tail) {
    return row_tail - access.row_known(ring) < shape.row;
}

/// Sender: draws a ticket of the row. @pre `next_in_row`
template <class Access, class Ring>
[[gnu::always_inline]] inline drawn_ticket draw_in_row(Access& access, Ring& ring,
                                                       ring_shape shape) {
    const std::uint64_t ticket = access.row_tail(ring);
    access.set_row_tail(ring, ticket + 1);
    const bool next_in_row = has_row_left(access, ring, shape, ticket + 1);
    if (!next_in_row) access.set_next_in_row(ring, false);
    return {.ticket = ticket, .in_row = true, .next_in_row = next_in_row};
}

/// Sender: draws one that is not of the row if its slot is free. @pre not `next_in_row`
template <class Access, class Ring>
[[gnu::always_inline]] inline bool draw_outside_row(Access& access, Ring& ring, ring_shape shape,
                                                    drawn_ticket& drawn) {
    std::uint64_t ticket = access.tail(ring);
    if (!is_free(access, ring, ticket, shape)) return false;
    access.advance_tail(ring, ticket);
    const bool next_in_row = has_row_left(access, ring, shape, access.row_tail(ring));
    if (next_in_row) access.set_next_in_row(ring, true);
    drawn = {.ticket = ticket, .in_row = false, .next_in_row = next_in_row};
    return true;
}

/// Sender: the same for one that uses the row, too. Where a message is its predecessor says, which
/// may be read already: so the slot of the row that the next one is to have must be free by now.
template <class Access, class Ring>
[[gnu::always_inline]] inline bool draw_with_row(Access& access, Ring& ring, ring_shape shape,
                                                 drawn_ticket& drawn) {
    if (access.next_in_row(ring)) {
        drawn = draw_in_row(access, ring, shape);
        return true;
    }
    return draw_outside_row(access, ring, shape, drawn);
}

/// Sender: the receiver has told in a message of its own how many of the row it has taken.
template <class Access, class Ring>
void learn(Access& access, Ring& ring, std::uint64_t taken) {
    if (taken > access.row_known(ring)) access.set_row_known(ring, taken);
}

/// Receiver: whether the next message is complete.
template <class Access, class Ring>
bool has_message(const Access& access, Ring& ring, ring_shape shape) {
    const bool in_row = access.is_in_row(ring);
    const std::uint64_t head = in_row ? access.row_head(ring) : access.head(ring);
    return access.sequence(ring, in_row, head % (in_row ? shape.row : shape.slots)) == head + 1;
}

}  // namespace ring_protocol

}  // namespace selion::machine::node
