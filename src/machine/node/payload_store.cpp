// SPDX-License-Identifier: Apache-2.0
#include "machine/node/payload_store.hpp"

#include "selion/detail/word_access.hpp"

namespace selion::machine::node {
namespace {

std::uint64_t piece_bytes(std::uint64_t bytes) {
    constexpr std::uint64_t unit = sizeof(payload_header);
    return (bytes + 2 * unit - 1) / unit * unit;
}

}  // namespace

/// Pieces come back in any order; the pool goes on behind the oldest that has not.
void payload_store::reclaim() {
    while (pool_->head != pool_->tail) {
        payload_header& oldest = header_at(pool_->head);
        // acquire: its reader is done with it [payload.free]
        if (std::atomic_ref(oldest.is_free).load(std::memory_order_acquire) == 0) return;
        pool_->head += oldest.bytes;
    }
    // Nothing is in use: the first bytes are the ones that the caches have.
    pool_->head = pool_->tail = 0;
}

std::byte* payload_store::take(std::uint64_t bytes, std::uint32_t target) {
    // acquire and release: one thread at a time [payload.take]
    while (is_taken_.test_and_set(std::memory_order_acquire)) detail::pause_processor();
    reclaim();
    const std::uint64_t wanted = piece_bytes(bytes);
    const std::uint64_t to_end = bytes_ - pool_->tail % bytes_;
    const std::uint64_t filler = wanted <= to_end ? 0 : to_end;
    std::byte* taken = nullptr;
    if (pool_->tail - pool_->head + filler + wanted <= bytes_) {
        if (filler != 0) {
            header_at(pool_->tail) = {filler, 1, target};
            pool_->tail += filler;
        }
        payload_header& header = header_at(pool_->tail);
        header = {wanted, 0, target};
        pool_->tail += wanted;
        taken = reinterpret_cast<std::byte*>(&header + 1);
    }
    is_taken_.clear(std::memory_order_release);  // [payload.take]
    return taken;
}

void payload_store::give_up(detail::rank_context& context, std::uint32_t target) {
    // As in `take` [payload.take]
    while (is_taken_.test_and_set(std::memory_order_acquire)) detail::pause_processor();
    for (std::uint64_t at = pool_->head; at != pool_->tail; at += header_at(at).bytes) {
        payload_header& header = header_at(at);
        if (header.target != target) continue;
        // release: as if it had been read [payload.free]
        std::atomic_ref(header.is_free).store(1, std::memory_order_release);
    }
    is_taken_.clear(std::memory_order_release);  // [payload.take]
    detail::word_add(context, pool_->freed, 1);
}

void give_back_payload(detail::rank_context& context, payload_pool& pool, const std::byte* data) {
    auto* const header = reinterpret_cast<payload_header*>(const_cast<std::byte*>(data)) - 1;
    // release: read before it is used again [payload.free]
    std::atomic_ref(header->is_free).store(1, std::memory_order_release);
    detail::word_add(context, pool.freed, 1);
}

}  // namespace selion::machine::node
