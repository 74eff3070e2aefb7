// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "selion/detail/atomic_request.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/detail/slow_path.hpp"

/// What ranks send each other. The protocol is told in protocol.md. Knows no network.
namespace selion::machine::fabric {

/// Head and what follows it; providers send so much at once, without a handshake.
inline constexpr std::size_t frame_bytes = 15'360;

enum class frame_kind : std::uint8_t {
    account,
    put,
    get,
    atomic,
    get_answer,
    atomic_answer,
    message,
    message_part,
    lent_message,
    batch,
};

/// Of `frame_head::flags`.
inline constexpr std::uint8_t is_reply_flag = 1;  ///< of the class of replies
inline constexpr std::uint8_t asks_flag = 2;      ///< an account is wanted at once
inline constexpr std::uint8_t adds_flag = 4;      ///< the signal is added to, not set
inline constexpr std::uint8_t all_flags = is_reply_flag | asks_flag | adds_flag;
inline constexpr std::uint8_t batched_flag = 128;  ///< not on the wire: it has come in a batch

/// No answer is wanted.
inline constexpr std::uint64_t no_ticket = ~std::uint64_t{0};

struct frame_head {
    std::uint64_t secret = 0;
    std::uint32_t origin = 0;
    std::uint32_t number = 0;
    std::uint32_t requests_taken = 0;
    std::uint32_t replies_taken = 0;
    std::uint32_t replies_sent = 0;
    std::uint32_t bytes = 0;
    frame_kind kind = frame_kind::account;
    std::uint8_t flags = 0;
    std::uint16_t detail = 0;
    std::uint32_t follows = 0;  ///< of a reply: number of the last request sent before it
    std::uint64_t operands[4] = {};

    bool is_counted() const { return kind != frame_kind::account; }
    constexpr bool is_reply() const { return (flags & is_reply_flag) != 0; }
    bool is_batched() const { return (flags & batched_flag) != 0; }
    /// Whether what a handler has put is to be there before it: its answer tells of that.
    bool may_follow() const {
        return is_reply() && (kind == frame_kind::message || kind == frame_kind::lent_message ||
                              kind == frame_kind::batch);
    }
    bool asks() const { return (flags & asks_flag) != 0; }
    detail::signal_update update(std::uint64_t amount) const {
        return {amount, (flags & adds_flag) != 0};
    }
};
static_assert(sizeof(frame_head) == 72);

/// Bytes that can follow a head.
inline constexpr std::size_t most_following = frame_bytes - sizeof(frame_head);

/// How a message's arguments and data lie where its function has them.
inline constexpr std::size_t message_alignment = 16;

struct lent_buffer;

/// A frame that is about to be sent: what follows the head comes in two pieces.
struct outgoing_frame {
    frame_head head;
    std::span<const std::byte> first = {};
    std::span<const std::byte> second = {};
    lent_buffer* lent = nullptr;  ///< has the data of a lent message until it is taken
    bool is_fleeting = false;     ///< see `detail::put_request`
    bool is_patient = false;      ///< likewise
};

/// Where the data of a lent message are, behind its arguments.
struct lent_place {
    std::uint64_t key;
    std::uint64_t offset;
};

/// What an atomic is, in `frame_head::detail`.
std::uint16_t encode_atomic(const detail::atomic_request& request);
/// @return nothing if there is no such operation, width or kind of element.
std::optional<detail::atomic_request> decode_atomic(const frame_head& head);

/// What a frame is measured by.
struct frame_bounds {
    std::uint64_t secret;
    std::uint32_t own_rank;
    std::uint32_t ranks;
    std::uint64_t reserve_bytes;       ///< of the heap
    std::uint64_t most_message_bytes;  ///< of a message's data

    /// Whether so many bytes at a global address lie in the own rank's heap.
    bool have(std::uint64_t bits, std::uint64_t bytes) const {
        const std::uint64_t offset = bits & detail::offset_mask;
        return bits >> detail::offset_bits == detail::heap_of(own_rank) && bytes <= reserve_bytes &&
               offset <= reserve_bytes - bytes;
    }
};

enum class frame_fault : std::uint8_t {
    none,
    foreign,  ///< not of this job: to be dropped
    origin,
    kind,
    length,
    address,
    signal,
    operation,
};
std::string_view name_of(frame_fault fault);

/// Reads a frame's head and holds every field against the bounds. What passes may be used without
/// further checks, but for tickets, numbers and the order of a message's parts.
frame_fault read_frame(std::span<const std::byte> frame, const frame_bounds& bounds,
                       frame_head& head);
/// The same for a frame of a batch, whose origin and length are known to be right.
frame_fault check_frame(const frame_head& head, const frame_bounds& bounds);

}  // namespace selion::machine::fabric
