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
/// As many slots, one behind the other and a whole number of times in a ring, are a row. A sender
/// whose messages are all consumed goes round in one.
inline constexpr std::uint64_t row_slots = 8;

/// Where the data of a message lie until its target has seen them.
enum class data_place : std::uint8_t {
    nowhere,
    pool,     ///< in a pool of the sender's carrier: offset in the mapping
    mapping,  ///< where the sender has them: offset in the mapping
    process,  ///< likewise: address in the process of both
};

/// What a message says of itself. As two words it can be stored at once.
struct message_about {
    std::uint32_t origin;
    std::uint32_t target;
    std::uint16_t kind;
    std::uint8_t argument_bytes;
    data_place place;   ///< of its data
    bool turns_back;    ///< the next message is in the first slot of the row that this one ends
    bool tells_counts;  ///< behind the arguments are `consumed_counts`

    constexpr std::uint64_t first_word() const { return origin | std::uint64_t{target} << 32; }
    constexpr std::uint64_t second_word() const {
        return kind | std::uint64_t{argument_bytes} << 16 |
               static_cast<std::uint64_t>(place) << 24 | std::uint64_t{turns_back} << 32 |
               std::uint64_t{tells_counts} << 40;
    }
};
static_assert(std::endian::native == std::endian::little, "the words of `message_about`");
static_assert(sizeof(message_about) == 16 && offsetof(message_about, place) == 11 &&
              offsetof(message_about, turns_back) == 12 &&
              offsetof(message_about, tells_counts) == 13);

inline constexpr std::size_t cache_line_bytes = 64;
/// What a message has at most in its first line.
inline constexpr std::size_t few_argument_bytes = 32;

/// What a message's sender has consumed of the messages of its target: `consumed` of the two rings.
struct consumed_counts {
    std::uint64_t requests;
    std::uint64_t replies;

    std::uint64_t sum() const { return requests + replies; }
};
/// Where they lie in the arguments.
inline constexpr std::size_t counts_offset = few_argument_bytes - sizeof(consumed_counts);

/// One message: all of a short one, which comes over in one piece.
struct alignas(cache_line_bytes) message_slot {
    std::uint64_t sequence;  ///< ticket + 1 once the message of that ticket is complete
    std::uint64_t handler;
    alignas(16) message_about about;
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
    /// Messages that the receiver is done with; its slots are free. Senders wait on it.
    alignas(detail::line_bytes) detail::shared_word consumed;
    alignas(detail::line_bytes) message_slot slots[ring_slots];
    message_rest rests[ring_slots];  ///< of the slots
};

/// The sizes of a ring.
struct ring_shape {
    std::uint64_t slots = ring_slots;
    std::uint64_t row = row_slots;
};

/// Where a message goes: the slot that its ticket stands for.
struct drawn_ticket {
    std::uint64_t ticket = 0;
    std::uint64_t next = 0;  ///< of the message after it

    bool turns_back() const { return next != ticket + 1; }
};

namespace ring_protocol {

/// The ticket after one that has been used. Who turns back skips a lap but for the row: as if the
/// slots in between had been used, and were free again.
constexpr std::uint64_t next_ticket(std::uint64_t ticket, bool turns_back, ring_shape shape) {
    return ticket + 1 + (turns_back ? shape.slots - shape.row : 0);
}

/// Sender: whether to turn back: at the end of a row, if at most half of it is under way.
constexpr bool may_turn_back(std::uint64_t ticket, std::uint64_t known_consumed, ring_shape shape) {
    return (ticket + 1) % shape.row == 0 && ticket - known_consumed <= shape.row / 2;
}

/// Receiver: whether senders are told that there is room again: with every `told_after`th ticket,
/// used or skipped.
constexpr bool is_told(std::uint64_t ticket, std::uint64_t next, std::uint64_t told_after) {
    return ticket / told_after != next / told_after;
}

/// Sender: whether a slot is free now.
template <class Access, class Ring>
bool has_room(Access& access, Ring& ring, ring_shape shape) {
    if (access.tail(ring) - access.known_consumed(ring) < shape.slots) return true;
    access.set_known_consumed(ring, access.consumed(ring));
    return access.tail(ring) - access.known_consumed(ring) < shape.slots;
}

/// Sender: draws a ticket if its slot is free. @return whether it has one.
template <class Access, class Ring>
[[gnu::always_inline]] inline bool draw(Access& access, Ring& ring, ring_shape shape,
                                        drawn_ticket& drawn) {
    std::uint64_t ticket = access.tail(ring);
    std::uint64_t next = 0;
    do {
        std::uint64_t known = access.known_consumed(ring);
        if (ticket - known >= shape.slots) {
            known = access.consumed(ring);
            access.set_known_consumed(ring, known);
            if (ticket - known >= shape.slots) return false;
        }
        const bool turns_back = access.has_one_sender && may_turn_back(ticket, known, shape);
        next = next_ticket(ticket, turns_back, shape);
    } while (!access.advance_tail(ring, ticket, next));
    drawn = {.ticket = ticket, .next = next};
    return true;
}

/// Sender: the receiver has told in a message of its own what it has consumed.
template <class Access, class Ring>
void learn(Access& access, Ring& ring, std::uint64_t consumed) {
    if (consumed > access.known_consumed(ring)) access.set_known_consumed(ring, consumed);
}

/// Receiver: whether the next message is complete.
template <class Access, class Ring>
bool has_message(const Access& access, Ring& ring, std::uint64_t slots) {
    const std::uint64_t head = access.head(ring);
    return access.sequence(ring, head % slots) == head + 1;
}

}  // namespace ring_protocol

}  // namespace selion::machine::node
