// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/wire.hpp"

#include <cstring>

#include "selion/detail/incoming_message.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/detail/shared_word.hpp"

namespace selion::machine::fabric {
namespace {

constexpr unsigned width_shift = 4;
constexpr unsigned kind_shift = 8;
constexpr std::uint16_t fetches_bit = 1u << 12;
constexpr std::uint16_t known_bits = 0x13ff;

bool is_signal(std::uint64_t bits, const frame_bounds& bounds) {
    if (bits == detail::null_address) return true;
    return bounds.have(bits, sizeof(detail::shared_word)) &&
           bits % alignof(detail::shared_word) == 0;
}

frame_fault check_put(const frame_head& head, const frame_bounds& bounds) {
    if (head.bytes != 0 && !bounds.have(head.operands[0], head.bytes)) {
        return frame_fault::address;
    }
    return is_signal(head.operands[1], bounds) ? frame_fault::none : frame_fault::signal;
}

frame_fault check_get(const frame_head& head, const frame_bounds& bounds) {
    if (head.bytes != 0 || head.operands[3] > most_following) return frame_fault::length;
    if (!bounds.have(head.operands[0], head.operands[3])) return frame_fault::address;
    return is_signal(head.operands[1], bounds) ? frame_fault::none : frame_fault::signal;
}

frame_fault check_atomic(const frame_head& head, const frame_bounds& bounds) {
    if (head.bytes != 0) return frame_fault::length;
    const auto request = decode_atomic(head);
    if (!request) return frame_fault::operation;
    const bool is_there =
        bounds.have(head.operands[0], request->width) && head.operands[0] % request->width == 0;
    return is_there ? frame_fault::none : frame_fault::address;
}

frame_fault check_message(const frame_head& head, const frame_bounds& bounds) {
    const std::uint64_t arguments = head.operands[2];
    const bool fits = arguments <= detail::most_argument_bytes &&
                      arguments % sizeof(std::uint64_t) == 0 && arguments <= head.bytes &&
                      head.operands[1] <= bounds.most_message_bytes &&
                      head.bytes - arguments <= head.operands[1];
    return fits ? frame_fault::none : frame_fault::length;
}

frame_fault check_lent(const frame_head& head, const frame_bounds& bounds) {
    const std::uint64_t arguments = head.operands[2];
    const bool fits = arguments <= detail::most_argument_bytes &&
                      arguments % sizeof(std::uint64_t) == 0 &&
                      head.bytes == arguments + sizeof(lent_place) && head.operands[1] != 0 &&
                      head.operands[1] <= bounds.most_message_bytes;
    return fits ? frame_fault::none : frame_fault::length;
}

bool has_class_of_kind(const frame_head& head) {
    switch (head.kind) {
        case frame_kind::message:
        case frame_kind::message_part:
        case frame_kind::lent_message:
        case frame_kind::batch: return true;
        case frame_kind::get_answer:
        case frame_kind::atomic_answer: return head.is_reply();
        default: return !head.is_reply();
    }
}

frame_fault check_body(const frame_head& head, const frame_bounds& bounds) {
    switch (head.kind) {
        case frame_kind::put: return check_put(head, bounds);
        case frame_kind::get: return check_get(head, bounds);
        case frame_kind::atomic: return check_atomic(head, bounds);
        case frame_kind::message: return check_message(head, bounds);
        case frame_kind::lent_message: return check_lent(head, bounds);
        case frame_kind::get_answer: return frame_fault::none;
        case frame_kind::message_part:
        case frame_kind::batch: return head.bytes != 0 ? frame_fault::none : frame_fault::length;
        case frame_kind::account:
        case frame_kind::atomic_answer:
            return head.bytes == 0 ? frame_fault::none : frame_fault::length;
    }
    return frame_fault::kind;
}

}  // namespace

std::uint16_t encode_atomic(const detail::atomic_request& request) {
    return static_cast<std::uint16_t>(
        static_cast<unsigned>(request.operation) | unsigned{request.width} << width_shift |
        static_cast<unsigned>(request.kind) << kind_shift | (request.fetches ? fetches_bit : 0u));
}

std::optional<detail::atomic_request> decode_atomic(const frame_head& head) {
    const unsigned operation = head.detail & 0xfu;
    const unsigned width = head.detail >> width_shift & 0xfu;
    const unsigned kind = head.detail >> kind_shift & 0x3u;
    const bool is_known = operation <= static_cast<unsigned>(detail::atomic_operation::max) &&
                          kind <= static_cast<unsigned>(detail::element_kind::floating) &&
                          (width == 4 || width == 8) && (head.detail & ~known_bits) == 0;
    if (!is_known) return std::nullopt;
    return detail::atomic_request{.target = head.operands[0],
                                  .operand = head.operands[1],
                                  .compare = head.operands[2],
                                  .operation = static_cast<detail::atomic_operation>(operation),
                                  .width = static_cast<std::uint8_t>(width),
                                  .kind = static_cast<detail::element_kind>(kind),
                                  .fetches = (head.detail & fetches_bit) != 0};
}

std::string_view name_of(frame_fault fault) {
    switch (fault) {
        case frame_fault::none: return "no fault";
        case frame_fault::foreign: return "another job's secret";
        case frame_fault::origin: return "an origin that is no other rank of the job";
        case frame_fault::kind: return "a kind or flags that do not exist";
        case frame_fault::length: return "a wrong length";
        case frame_fault::address: return "an address outside of this rank's memory";
        case frame_fault::signal: return "a signal outside of this rank's memory";
        case frame_fault::operation: return "an atomic operation that does not exist";
    }
    return "an unknown fault";
}

frame_fault check_frame(const frame_head& head, const frame_bounds& bounds) {
    // The usual one, which may be of either class.
    if (head.kind == frame_kind::message && (head.flags & ~is_reply_flag) == 0) {
        return check_message(head, bounds);
    }
    const bool is_known =
        head.kind <= frame_kind::batch && (head.flags & ~(all_flags | batched_flag)) == 0;
    if (!is_known || !has_class_of_kind(head)) return frame_fault::kind;
    return check_body(head, bounds);
}

frame_fault read_frame(std::span<const std::byte> frame, const frame_bounds& bounds,
                       frame_head& head) {
    if (frame.size() < sizeof head) return frame_fault::foreign;
    std::memcpy(&head, frame.data(), sizeof head);
    if (head.secret != bounds.secret) return frame_fault::foreign;
    if (head.is_batched()) return frame_fault::kind;
    if (head.origin >= bounds.ranks || head.origin == bounds.own_rank) return frame_fault::origin;
    if (head.bytes != frame.size() - sizeof head || frame.size() > frame_bytes) {
        return frame_fault::length;
    }
    return check_frame(head, bounds);
}

}  // namespace selion::machine::fabric
