// SPDX-License-Identifier: Apache-2.0
#include "machine/node/node_services.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "machine/call_record.hpp"
#include "machine/host/host.hpp"
#include "machine/node/doorbell.hpp"
#include "machine/node/element_atomic.hpp"
#include "machine/node/sleep_protocol.hpp"
#include "machine/waiter.hpp"
#include "meters/record/recorder.hpp"
#include "selion/counter.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::node {
namespace {

/// The arrow from whoever gave the word its value. Collectives tell nobody who they are.
meters::flow_id cause_of(const detail::rank_context& context, const wait_request& request) {
    const std::uint64_t value = detail::word_load(request.word);
    if (request.reason != wait_reason::signal || value == 0) return 0;
    const std::byte* const own_memory =
        detail::mapped_address(context, detail::global_address(context.rank, 0));
    const auto offset = reinterpret_cast<const std::byte*>(&request.word) - own_memory;
    const std::uint64_t address =
        detail::global_address(context.rank, static_cast<std::uint64_t>(offset));
    return meters::flow_of_signal(address, value, context.recorder->era());
}

}  // namespace

std::int64_t node_clock::now_ns() { return steady_now_ns(); }

std::int64_t node_clock::stamp_ps() {
    return (steady_now_ns() - mapping_.control().begun_at_ns) * 1000;
}

bool node_clock::wait(detail::rank_context& context, const wait_request& request) {
    // Who only lets others run waits for nothing.
    call_record* const record = request.deadline_ns > 0 ? own_record(context) : nullptr;
    if (record != nullptr) publish(record->is_waiting, 1u);
    const std::int64_t start_ps = context.recorder != nullptr ? stamp_ps() : 0;
    const bool has_arrived = context.waiter->wait(request);
    if (context.recorder != nullptr) {
        context.recorder->record({.name = name_of(request.reason).data(),
                                  .start_ps = start_ps,
                                  .end_ps = stamp_ps(),
                                  .kind = meters::slice_kind::wait,
                                  .flow_in = has_arrived ? cause_of(context, request) : 0});
    }
    if (record != nullptr) publish(record->is_waiting, 0u);
    return has_arrived;
}

void node_clock::wake(detail::rank_context&, detail::shared_word& word) {
    host_access access(mapping_.control(), mapping_.is_shared(), no_deadline);
    sleep_protocol::wake(access, word, [&](std::uint32_t who) {
        if (who != sleep_protocol::many) {
            sleep_protocol::ring(access, mapping_.bell(who - 1));
            return;
        }
        for (std::uint32_t i = 0; i < mapping_.control().bells; ++i) {
            sleep_protocol::ring(access, mapping_.bell(i));
        }
    });
}

/// The word's mark is out of reach, so all are rung who could wait for it.
void node_clock::wake_owner(detail::rank_context&, detail::shared_word& word, std::uint32_t owner) {
    host_access access(mapping_.control(), mapping_.is_shared(), no_deadline);
    const std::uint32_t name = name_of_word(mapping_.control(), word);
    bells_.each_of(owner, joined_beside(owner), [&](std::uint32_t bell) {
        sleep_protocol::ring_if_asleep(access, mapping_.bell(bell), name);
    });
}

void node_clock::count(detail::rank_context& context, detail::shared_word& word) {
    detail::word_add_quietly(word, 1);
    if (detail::has_sleepers_after_addition(context)) wake_owner(context, word, context.rank);
}

std::uint32_t node_clock::joined_beside(std::uint32_t rank) const {
    // relaxed: ordered before the value by the sleeper's heavy fence [word.sleep]
    return look_at(mapping_.process(bells_.process_of(rank)).joined);
}

std::byte* mapped_transport::address_of(std::uint64_t bits) const {
    return mapping_.slice(detail::rank_of(bits)) + (bits & detail::offset_mask);
}

void mapped_transport::raise(detail::rank_context& context, std::uint64_t signal,
                             detail::signal_update update) {
    if (signal == detail::null_address) return;
    auto& word = *reinterpret_cast<detail::shared_word*>(address_of(signal));
    const std::uint64_t value = detail::raise_word(context, signal, word, update);
    if (context.recorder != nullptr) {
        context.recorder->begin_flow(
            meters::flow_of_signal(signal, value, context.recorder->era()));
    }
}

void mapped_transport::put(detail::rank_context& context, const detail::put_request& request) {
    if (request.bytes != 0) std::memcpy(address_of(request.target), request.source, request.bytes);
    raise(context, request.signal, request.update);
    detail::count_here(context, request.origin, std::source_location::current());
    detail::count_here(context, request.completion, std::source_location::current());
}

void mapped_transport::get(detail::rank_context&, void* target, std::uint64_t source,
                           std::size_t bytes) {
    std::memcpy(target, address_of(source), bytes);
}

void mapped_transport::start_get(detail::rank_context& context,
                                 const detail::get_request& request) {
    if (request.bytes != 0) std::memcpy(request.target, address_of(request.source), request.bytes);
    raise(context, request.signal, {1, true});
    detail::count_here(context, request.origin, std::source_location::current());
    detail::count_here(context, request.completion, std::source_location::current());
}

std::uint64_t mapped_transport::atomic(detail::rank_context&,
                                       const detail::atomic_request& request) {
    return change_element(address_of(request.target), request);
}

void mapped_transport::start_atomic(detail::rank_context& context,
                                    const detail::atomic_request& request,
                                    const detail::atomic_answer& answer) {
    const std::uint64_t before = change_element(address_of(request.target), request);
    if (answer.before != nullptr) std::memcpy(answer.before, &before, request.width);
    detail::count_here(context, answer.completion, std::source_location::current());
}

void mapped_transport::quiet(detail::rank_context&) {
    // seq_cst: earlier stores are visible to all before anything later [element.atomic]
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

void mapped_transport::quiet(detail::rank_context& context, std::uint32_t) { quiet(context); }

bool mapped_memory::commit(std::uint64_t bytes) {
    control_block& control = mapping_.control();
    std::atomic_ref committed(control.committed);
    std::uint64_t before = committed.load(std::memory_order_relaxed);
    do {
        if (bytes > control.memory_limit - std::min(before, control.memory_limit)) return false;
    } while (!committed.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    return true;
}

void mapped_memory::release(std::uint64_t bytes) {
    std::atomic_ref(mapping_.control().committed).fetch_sub(bytes, std::memory_order_relaxed);
}

void mapped_memory::discard(detail::rank_context& context, std::uint64_t offset,
                            std::uint64_t bytes) {
    const std::uint64_t page = page_bytes();
    const std::uint64_t first = (offset + page - 1) / page * page;
    const std::uint64_t last = (offset + bytes) / page * page;
    if (first >= last) return;
    std::byte* start = mapping_.slice(context.rank) + first;
    madvise(start, last - first, mapping_.is_shared() ? MADV_REMOVE : MADV_DONTNEED);
}

std::uint64_t mapped_memory::committed_bytes() const {
    return look_at(mapping_.control().committed);
}

std::uint64_t mapped_memory::limit_bytes() const { return mapping_.control().memory_limit; }

}  // namespace selion::machine::node
