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
    data_place place;  ///< of its data

    static constexpr std::uint64_t first_word(std::uint32_t origin, std::uint32_t target) {
        return origin | std::uint64_t{target} << 32;
    }
    static constexpr std::uint64_t second_word(std::uint16_t kind, std::uint8_t argument_bytes,
                                               data_place place) {
        return kind | std::uint64_t{argument_bytes} << 16 | static_cast<std::uint64_t>(place) << 24;
    }
};
static_assert(std::endian::native == std::endian::little, "the words of `message_about`");
static_assert(sizeof(message_about) == 12 && offsetof(message_about, place) == 11);

inline constexpr std::size_t cache_line_bytes = 64;
/// What a message has at most in its first line.
inline constexpr std::size_t few_argument_bytes = 32;

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

namespace ring_protocol {

/// Sender: whether a slot is free now.
template <class Access, class Ring>
bool has_room(Access& access, Ring& ring, std::uint64_t capacity) {
    if (access.tail(ring) - access.known_consumed(ring) < capacity) return true;
    access.set_known_consumed(ring, access.consumed(ring));
    return access.tail(ring) - access.known_consumed(ring) < capacity;
}

/// Sender: draws a ticket if its slot is free. @return whether it has one.
template <class Access, class Ring>
[[gnu::always_inline]] inline bool draw(Access& access, Ring& ring, std::uint64_t capacity,
                                        std::uint64_t& ticket) {
    ticket = access.tail(ring);
    do {
        if (ticket - access.known_consumed(ring) < capacity) continue;
        const std::uint64_t consumed = access.consumed(ring);
        access.set_known_consumed(ring, consumed);
        if (ticket - consumed >= capacity) return false;
    } while (!access.advance_tail(ring, ticket));
    return true;
}

/// Receiver: whether the next message is complete.
template <class Access, class Ring>
bool has_message(const Access& access, Ring& ring, std::uint64_t capacity) {
    const std::uint64_t head = access.head(ring);
    return access.sequence(ring, head % capacity) == head + 1;
}

}  // namespace ring_protocol

}  // namespace selion::machine::node
