// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "machine/machine.hpp"
#include "machine/node/mail_access.hpp"
#include "machine/node/message_ring.hpp"

namespace selion::machine::node {

/// Where the messages of one carrier to one rank go.
struct message_way {
    std::array<message_ring*, 2> rings = {};  ///< of requests and of replies
    detail::shared_word* arrivals = nullptr;

    message_ring& ring_for(bool is_reply) const { return *rings[is_reply ? 1 : 0]; }
};

/// One that uses rows. How it sends short messages says where the next one goes: in the row or not.
class row_way : public short_way, public message_way {
public:
    row_way() = default;
    row_way(const message_way& way, std::uint32_t origin, std::uint32_t target);

    /// A message has been seen that came from there.
    void expect_answer() {
        message_slot* const slot = answer_;
        if (slot == nullptr) return;
        answer_ = nullptr;
        prefetch_for_write(slot);
    }
    /// The receiver's: what it has taken from the rows in the other direction.
    std::uint64_t& taken_from(bool are_replies) {
        return are_replies ? taken_.replies : taken_.requests;
    }
    void note_taken() { has_taken_ = true; }
    /// Where a message has room for it: what has been taken, if that is more than was told.
    /// @return whether it tells.
    bool tell_counts(message_slot& slot) {
        if (!has_taken_) return false;
        has_taken_ = false;
        store_pair(slot.arguments + counts_offset, taken_.requests, taken_.replies);
        return true;
    }
    /// A ticket has been drawn by others than `send` and `reply`.
    void note_drawn(bool is_reply);

private:
    template <bool is_reply>
    static void send_in_row(short_way& on, std::uint64_t handler, std::uint64_t first,
                            std::uint64_t second, std::uint64_t about,
                            detail::rank_context& sender);
    template <bool is_reply>
    static void send_last_in_row(row_way& way, std::uint64_t handler, std::uint64_t first,
                                 std::uint64_t second, std::uint64_t about,
                                 detail::rank_context& sender);
    template <bool is_reply>
    static void send_outside_row(short_way& on, std::uint64_t handler, std::uint64_t first,
                                 std::uint64_t second, std::uint64_t about,
                                 detail::rank_context& sender);
    template <bool is_reply>
    static void send_waiting(row_way& way, std::uint64_t handler, std::uint64_t first,
                             std::uint64_t second, std::uint64_t about,
                             detail::rank_context& sender);
    void write(message_slot& slot, const drawn_ticket& drawn, std::uint64_t handler,
               std::uint64_t first, std::uint64_t second, std::uint64_t about);

    message_ends ends_ = {};  ///< of its messages
    /// The slot of the next message, if one was sent since the last one came from there; else null.
    /// Two who answer each other use it for the answer, and it lies with who waits for that.
    message_slot* answer_ = nullptr;
    row_counts taken_ = {};
    bool has_taken_ = false;  ///< more than was told there
};
static_assert(sizeof(row_way) == sizeof(short_way), "ranks look for theirs in an array");

}  // namespace selion::machine::node
