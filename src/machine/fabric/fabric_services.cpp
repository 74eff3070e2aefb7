// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/fabric_services.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <source_location>

#include "machine/host/host.hpp"
#include "machine/node/element_atomic.hpp"
#include "meters/record/recorder.hpp"
#include "selion/counter.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::fabric {
namespace {

void count(detail::rank_context& context, counter* which) {
    detail::count_here(context, which, std::source_location::current());
}

std::uint64_t pieces_of(std::size_t bytes) {
    return std::max<std::uint64_t>((bytes + most_following - 1) / most_following, 1);
}

}  // namespace

void fabric_clock::wake(detail::rank_context&, detail::shared_word& word) {
    wake_sleepers_of(place_, word);
}

void fabric_clock::wake_owner(detail::rank_context&, detail::shared_word& word,
                              std::uint32_t owner) {
    const std::uint32_t index = owner - first_;
    bells_.each_of(index, joined_beside(index),
                   [&](std::uint32_t bell) { wake_if_asleep(place_, bell, word); });
}

void fabric_memory::discard(detail::rank_context& context, std::uint64_t offset,
                            std::uint64_t bytes) {
    const std::uint64_t page = page_bytes();
    const std::uint64_t first = (offset + page - 1) / page * page;
    const std::uint64_t last = (offset + bytes) / page * page;
    if (first >= last) return;
    std::byte* const start = mapping_.slice(context.rank - first_) + first;
    madvise(start, last - first, mapping_.is_shared() ? MADV_REMOVE : MADV_DONTNEED);
}

bool fabric_transport::is_near(std::uint64_t bits) const {
    return reach_.near.contains(rank_of(bits));
}

std::byte* fabric_transport::near_place(std::uint64_t bits) const {
    return reach_.mapping.slice(rank_of(bits) - reach_.first_mapped) + (bits & detail::offset_mask);
}

void fabric_transport::raise_near(detail::rank_context& context, std::uint64_t signal,
                                  detail::signal_update update) {
    if (signal == detail::null_address) return;
    auto& word = *reinterpret_cast<detail::shared_word*>(near_place(signal));
    const std::uint64_t value = detail::raise_word(context, signal, word, update);
    if (context.recorder == nullptr) return;
    context.recorder->begin_flow(meters::flow_of_signal(signal, value, context.recorder->era()));
}

void fabric_transport::put_near(detail::rank_context& context, const detail::put_request& request) {
    if (request.bytes != 0) std::memcpy(near_place(request.target), request.source, request.bytes);
    raise_near(context, request.signal, request.update);
    count(context, request.origin);
    count(context, request.completion);
}

/// The frame after the data has the signal and the news of completion.
void fabric_transport::put_long(detail::rank_context& context, const detail::put_request& request) {
    outgoing_frame after;
    after.head.kind = frame_kind::put;
    after.is_fleeting = request.is_fleeting;
    after.head.operands[0] = request.target;
    after.head.operands[1] = request.signal;
    after.head.operands[2] = request.update.amount;
    if (request.update.adds) after.head.flags = adds_flag;
    const auto* const source = static_cast<const std::byte*>(request.source);
    // The provider only reads it.
    port_.write(context,
                {.peer = rank_of(request.target),
                 .offset = request.target & detail::offset_mask,
                 .own = const_cast<std::byte*>(source),
                 .bytes = request.bytes},
                after, request.completion);
    count(context, request.origin);
}

/// In pieces; the last one has the signal and the news of completion.
void fabric_transport::put(detail::rank_context& context, const detail::put_request& request) {
    if (is_near(request.target)) return put_near(context, request);
    if (port_.gather(rank_of(request.target), request)) return count(context, request.origin);
    port_.note_sent(meters::sent_kind::put, request.bytes);
    if (can_move(request.target, request.bytes)) return put_long(context, request);
    const auto* source = static_cast<const std::byte*>(request.source);
    for (std::size_t done = 0;;) {
        outgoing_frame frame;
        frame.head.kind = frame_kind::put;
        frame.is_fleeting = request.is_fleeting;
        frame.is_patient = request.is_patient;
        frame.head.operands[0] = request.target + done;
        frame.head.operands[1] = detail::null_address;
        const std::size_t bytes = std::min(request.bytes - done, most_following);
        if (bytes != 0) frame.first = {source + done, bytes};
        done += bytes;
        const bool is_last = done == request.bytes;
        if (is_last) {
            frame.head.operands[1] = request.signal;
            frame.head.operands[2] = request.update.amount;
            if (request.update.adds) frame.head.flags = adds_flag;
        }
        port_.post(context, rank_of(request.target), frame, is_last ? request.completion : nullptr);
        if (is_last) break;
    }
    count(context, request.origin);
}

void fabric_transport::get_near(detail::rank_context& context, const detail::get_request& request) {
    if (request.bytes != 0) std::memcpy(request.target, near_place(request.source), request.bytes);
    raise_near(context, request.signal, {1, true});
    count(context, request.origin);
    count(context, request.completion);
}

void fabric_transport::post_gets(detail::rank_context& context, const detail::get_request& request,
                                 pending_operation& what) {
    auto* const target = static_cast<std::byte*>(request.target);
    const std::uint32_t peer = rank_of(request.source);
    const std::uint64_t pieces = pieces_of(request.bytes);
    // `what` may be closed as soon as the last piece is on its way.
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
        const std::size_t done = piece * most_following;
        const std::size_t bytes = std::min(request.bytes - done, most_following);
        outgoing_frame frame;
        frame.head.kind = frame_kind::get;
        frame.head.operands[0] = request.source + done;
        frame.head.operands[1] = piece + 1 == pieces ? request.signal : detail::null_address;
        frame.head.operands[2] =
            port_.operations().draw_ticket(what, peer, bytes == 0 ? nullptr : target + done, bytes);
        frame.head.operands[3] = bytes;
        port_.post(context, peer, frame);
    }
}

/// The provider reads, or the peer's answers bring it: what the target is to be told of, itself or
/// by a later one, the target's processor reads.
void fabric_transport::post_reads(detail::rank_context& context, const detail::get_request& request,
                                  pending_operation& what) {
    port_.note_sent(meters::sent_kind::get, request.bytes);
    const bool is_told = request.signal != detail::null_address || request.is_told_later;
    const bool is_moved = !is_told && can_move(request.source, request.bytes);
    what.pieces_left = is_moved ? port::moves_of(request.bytes) : pieces_of(request.bytes);
    if (!is_moved) return post_gets(context, request, what);
    port_.start_read(context,
                     {.peer = rank_of(request.source),
                      .offset = request.source & detail::offset_mask,
                      .own = static_cast<std::byte*>(request.target),
                      .bytes = request.bytes},
                     what);
}

void fabric_transport::get(detail::rank_context& context, void* target, std::uint64_t source,
                           std::size_t bytes) {
    const detail::get_request request{.target = target, .source = source, .bytes = bytes};
    if (is_near(source)) return get_near(context, request);
    if (bytes == 0) return;
    pending_operation& what = port_.operations().open();
    what.is_awaited = true;
    post_reads(context, request, what);
    await_operation(context, port_.operations(), what);
}

void fabric_transport::start_get(detail::rank_context& context,
                                 const detail::get_request& request) {
    if (is_near(request.source)) return get_near(context, request);
    pending_operation& what = port_.operations().open();
    what.origin = request.origin;
    what.completion = request.completion;
    post_reads(context, request, what);
}

void fabric_transport::post_atomic(detail::rank_context& context,
                                   const detail::atomic_request& request, std::uint64_t ticket,
                                   counter* completion) {
    port_.note_sent(meters::sent_kind::atomic, request.width);
    outgoing_frame frame;
    frame.head.kind = frame_kind::atomic;
    frame.head.detail = encode_atomic(request);
    frame.head.operands[0] = request.target;
    frame.head.operands[1] = request.operand;
    frame.head.operands[2] = request.compare;
    frame.head.operands[3] = ticket;
    port_.post(context, rank_of(request.target), frame, completion);
}

std::uint64_t fabric_transport::atomic(detail::rank_context& context,
                                       const detail::atomic_request& request) {
    if (is_near(request.target)) return node::change_element(near_place(request.target), request);
    if (!request.fetches) {
        post_atomic(context, request, no_ticket, nullptr);
        return 0;
    }
    pending_operation& what = port_.operations().open();
    what.is_awaited = true;
    what.pieces_left = 1;
    const std::uint64_t ticket =
        port_.operations().draw_ticket(what, rank_of(request.target), nullptr, 0);
    post_atomic(context, request, ticket, nullptr);
    return await_operation(context, port_.operations(), what);
}

void fabric_transport::start_atomic(detail::rank_context& context,
                                    const detail::atomic_request& request,
                                    const detail::atomic_answer& answer) {
    if (is_near(request.target)) {
        const std::uint64_t before = node::change_element(near_place(request.target), request);
        if (answer.before != nullptr) std::memcpy(answer.before, &before, request.width);
        return count(context, answer.completion);
    }
    if (answer.before == nullptr) {
        return post_atomic(context, request, no_ticket, answer.completion);
    }
    pending_operation& what = port_.operations().open();
    what.pieces_left = 1;
    what.answer = answer.before;
    what.answer_bytes = request.width;
    what.completion = answer.completion;
    post_atomic(context, request,
                port_.operations().draw_ticket(what, rank_of(request.target), nullptr, 0), nullptr);
}

void fabric_transport::quiet(detail::rank_context& context) {
    // seq_cst: earlier stores are visible to all before anything later [element.atomic]
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (reach_.place.has_frames) port_.quiet(context);
}

void fabric_transport::quiet(detail::rank_context& context, std::uint32_t target) {
    // seq_cst: as above [element.atomic]
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!reach_.near.contains(target)) port_.quiet(context, target);
}

}  // namespace selion::machine::fabric
