// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are either a frame all of whose fields lie within the job's bounds, or have a fault;
// and either a card, which encodes to the same bytes, or none.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "machine/fabric/batch.hpp"
#include "machine/fabric/card.hpp"
#include "machine/fabric/wire.hpp"
#include "selion/detail/incoming_message.hpp"
#include "selion/detail/rank_context.hpp"

namespace {

using namespace selion::machine::fabric;

/// The secret that the files of the corpus have.
constexpr frame_bounds bounds{.secret = 0x5345'4c49'4f4e'2131,
                              .own_rank = 1,
                              .ranks = 4,
                              .reserve_bytes = 1 << 20,
                              .most_message_bytes = 1 << 16};

void expect(bool condition) {
    if (!condition) std::abort();
}

void expect_own(std::uint64_t bits, std::uint64_t bytes) {
    const std::uint64_t offset = bits & selion::detail::offset_mask;
    expect(bits >> selion::detail::offset_bits == selion::detail::heap_of(bounds.own_rank));
    expect(offset + bytes <= bounds.reserve_bytes);
}

void expect_signal(std::uint64_t bits) {
    if (bits == selion::detail::null_address) return;
    expect_own(bits, 16);
    expect(bits % 16 == 0);
}

void expect_sound(const frame_head& head) {
    expect(head.origin < bounds.ranks && head.origin != bounds.own_rank);
    switch (head.kind) {
        case frame_kind::put:
            if (head.bytes != 0) expect_own(head.operands[0], head.bytes);
            return expect_signal(head.operands[1]);
        case frame_kind::get:
            expect_own(head.operands[0], head.operands[3]);
            expect(head.operands[3] <= most_following);
            return expect_signal(head.operands[1]);
        case frame_kind::atomic: {
            const auto request = decode_atomic(head);
            expect(request.has_value() && encode_atomic(*request) == head.detail);
            return expect_own(request->target, request->width);
        }
        case frame_kind::message:
            expect(head.operands[2] <= selion::detail::most_argument_bytes);
            expect(head.operands[2] <= head.bytes);
            return expect(head.bytes - head.operands[2] <= head.operands[1] &&
                          head.operands[1] <= bounds.most_message_bytes);
        default: return;
    }
}

/// Each frame of a batch is none, or within the bounds as if it had come alone.
void expect_sound_batch(const frame_head& head, std::span<const std::byte> following) {
    frame_head one;
    std::span<const std::byte> data;
    for (batch_reader batch(head, following); !batch.is_over();) {
        if (batch.next(one, data) != frame_fault::none) return;
        expect(data.size() == one.bytes && one.kind != frame_kind::batch);
        expect(one.is_reply() == head.is_reply());
        if (check_frame(one, bounds) != frame_fault::none) return;
        expect_sound(one);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
    frame_head head;
    if (read_frame(bytes, bounds, head) == frame_fault::none) {
        expect(head.bytes + sizeof head == size && size <= frame_bytes);
        expect_sound(head);
        if (head.kind == frame_kind::batch) {
            expect_sound_batch(head, bytes.subspan(sizeof head));
        }
    }
    if (const auto card = decode_card(bytes)) {
        const std::vector<std::byte> again = encode(*card);
        expect(decode_card(again).has_value() && difference(*card, *decode_card(again)).empty());
    }
    return 0;
}
