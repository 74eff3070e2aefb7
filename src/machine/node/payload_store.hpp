// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "machine/node/mail_area.hpp"

namespace selion::machine::node {

/// A process's hand on one payload pool of its own.
class payload_store {
public:
    payload_store(payload_pool& pool, std::byte* first, std::uint64_t bytes)
        : pool_(&pool), first_(first), bytes_(bytes) {}
    payload_store(payload_store&& other) noexcept
        : pool_(other.pool_), first_(other.first_), bytes_(other.bytes_) {}

    /// @param target the rank that is to read them.
    /// @return place for so many bytes, or null while there is none.
    std::byte* take(std::uint64_t bytes, std::uint32_t target);
    /// That rank is dead and reads nothing any more.
    void give_up(detail::rank_context& context, std::uint32_t target);
    std::uint64_t most_bytes() const { return bytes_ - sizeof(payload_header); }
    /// Counts pieces that receivers give back; to wait on while there is no place.
    detail::shared_word& freed() const { return pool_->freed; }

private:
    payload_header& header_at(std::uint64_t position) const {
        return *reinterpret_cast<payload_header*>(first_ + position % bytes_);
    }
    void reclaim();

    payload_pool* pool_;
    std::byte* first_;
    std::uint64_t bytes_;
    std::atomic_flag is_taken_;  ///< several threads may send for the ranks of one carrier
};

/// Marks a piece as read. @param data as `take` returned it, in this or another process.
void give_back_payload(detail::rank_context& context, payload_pool& pool, const std::byte* data);

}  // namespace selion::machine::node
