// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "machine/node/message_ring.hpp"
#include "selion/detail/shared_word.hpp"

namespace selion::machine::node {

/// Data of messages under way, in pieces one behind the other, used in turn like a ring. Threads of
/// the sender's process take pieces, receivers of any process give them back.
struct payload_pool {
    alignas(detail::line_bytes) detail::shared_word freed;  ///< pieces given back, ever
    alignas(detail::line_bytes) std::uint64_t head;  ///< the oldest piece in use, counted from the
    std::uint64_t tail;                              ///< pool's first; the next piece
};

/// In front of each piece.
struct alignas(64) payload_header {
    std::uint64_t bytes;  ///< of the piece, with this header
    std::uint32_t is_free;
    std::uint32_t target;  ///< the rank that is to read it
};
static_assert(sizeof(payload_header) == 64);

/// What others find when they write to the ranks of one carrier, and what its own messages need.
struct mail_area {
    alignas(detail::line_bytes) detail::shared_word arrivals;  ///< its mark: who sleeps meanwhile
    payload_pool request_pool;
    payload_pool reply_pool;
    // The rings follow, those of replies first, and then the bytes of both pools.
};

/// Up to so many carriers each has a ring of its own at every other one; more share one.
inline constexpr std::uint32_t most_single_senders = 8;

/// Where one carrier's mail lies. Requests may make their target send replies; replies cause
/// nothing, so they always get through.
struct mailbox {
    mail_area* area;
    std::span<message_ring> replies;
    std::span<message_ring> requests;  ///< as many
    std::byte* request_bytes;
    std::byte* reply_bytes;

    std::span<message_ring> rings() const {
        return {replies.data(), replies.size() + requests.size()};
    }
};

}  // namespace selion::machine::node
