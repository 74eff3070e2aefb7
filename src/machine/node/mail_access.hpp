// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "machine/machine.hpp"
#include "machine/node/message_ring.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::node {

/// Takes a line for stores that follow: what it takes to come passes while these are made ready.
inline void prefetch_for_write(const void* line) {
#if defined(__x86_64__)
    // GCC's own has this instruction only where all processors of the target have it; others take
    // it for none.
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
    __builtin_prefetch(line, 1);
#endif
}

/// Two words in one store. @param to aligned to 16 bytes.
inline void store_pair(void* to, std::uint64_t low, std::uint64_t high) {
    using pair [[gnu::vector_size(16), gnu::may_alias]] = std::uint64_t;
#if defined(__x86_64__)
    if (__builtin_constant_p(high)) {
        *static_cast<pair*>(to) = pair{low, high};
        return;
    }
    // Each by a register: GCC likes to put one of them in memory first, which is a store more.
    pair first{low, 0};
    pair second{high, 0};
    asm("" : "+x"(first), "+x"(second));
    *static_cast<pair*>(to) = pair{first[0], second[0]};
#else
    *static_cast<pair*>(to) = pair{low, high};
#endif
}

class row_way;

/// A ring as its receiver sees it.
struct ring_reader {
    message_ring* ring = nullptr;
    std::atomic<std::uint64_t> head = 0;  ///< tickets that it has begun with
    // Used by a receiver of one thread.
    std::uint64_t* row_head = nullptr;  ///< likewise of the row; lies with the way back
    bool is_in_row = false;             ///< the next message
    /// Where both use rows: the way to who sends here.
    row_way* back = nullptr;
};

/// The atomics of `ring_protocol` on real memory.
struct ring_access {
    bool has_one_sender = false;  ///< then tickets need no atomic step
    bool uses_row = false;

    static std::uint64_t tail(const message_ring& ring) {
        return std::atomic_ref(const_cast<message_ring&>(ring).tail)
            .load(std::memory_order_relaxed);
    }
    bool advance_tail(message_ring& ring, std::uint64_t& ticket) const {
        if (has_one_sender) {
            std::atomic_ref(ring.tail).store(ticket + 1, std::memory_order_relaxed);
            return true;
        }
        return std::atomic_ref(ring.tail).compare_exchange_weak(ticket, ticket + 1,
                                                                std::memory_order_relaxed);
    }
    static std::uint64_t row_tail(const message_ring& ring) { return ring.row_tail; }
    static void set_row_tail(message_ring& ring, std::uint64_t tail) { ring.row_tail = tail; }
    static std::uint64_t row_known(const message_ring& ring) { return ring.row_known; }
    static void set_row_known(message_ring& ring, std::uint64_t taken) { ring.row_known = taken; }
    static bool next_in_row(const message_ring& ring) { return ring.next_in_row; }
    static void set_next_in_row(message_ring& ring, bool is) { ring.next_in_row = is; }
    static std::uint64_t known_consumed(const message_ring& ring) {
        // acquire: whoever looked has seen that the slots are read [ring.known]
        return std::atomic_ref(const_cast<message_ring&>(ring).known_consumed)
            .load(std::memory_order_acquire);
    }
    static void set_known_consumed(message_ring& ring, std::uint64_t consumed) {
        // release: what I have seen is seen by those who believe me [ring.known]
        std::atomic_ref(ring.known_consumed).store(consumed, std::memory_order_release);
    }
    static std::uint64_t consumed(const message_ring& ring) {
        return detail::word_load(ring.consumed);
    }
    static std::uint64_t head(const ring_reader& reader) {
        return reader.head.load(std::memory_order_relaxed);
    }
    static void set_head(ring_reader& reader, std::uint64_t head) {
        reader.head.store(head, std::memory_order_relaxed);
    }
    static bool is_in_row(const ring_reader& reader) { return reader.is_in_row; }
    static std::uint64_t row_head(const ring_reader& reader) { return *reader.row_head; }
    static std::uint64_t sequence(const ring_reader& reader, bool in_row, std::uint64_t place) {
        return number_of(in_row ? reader.ring->row[place] : reader.ring->slots[place]);
    }
    static std::uint64_t number_of(message_slot& slot) {
        // acquire: the whole message is there [ring.slot]
        return std::atomic_ref(slot.sequence).load(std::memory_order_acquire);
    }
    static void publish(message_slot& slot, std::uint64_t ticket) {
        // release: the message before its number [ring.slot]
        std::atomic_ref(slot.sequence).store(ticket + 1, std::memory_order_release);
    }
};

/// For everybody.
inline bool has_message(const ring_reader& reader) {
    const ring_access access;
    return ring_protocol::has_message(access, reader, {});
}

/// Of the message that the sign stands for.
inline message_slot& slot_of(const mail_sign& sign) {
    static_assert(offsetof(message_slot, sequence) == 0);
    return *reinterpret_cast<message_slot*>(const_cast<std::uint64_t*>(sign.word));
}

/// Where the next message is, once the one before it has been copied.
inline void find_next(mail_sign& sign, message_ring& ring, bool in_row, std::uint64_t ticket) {
    sign.word = &ring.slot(in_row, ticket).sequence;
    sign.value = ticket + 1;
}

}  // namespace selion::machine::node
