// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/lent_buffers.hpp"

#include <algorithm>
#include <bit>

#include "machine/fabric/card.hpp"

namespace selion::machine::fabric {
namespace {

constexpr std::size_t least_capacity = 64 * 1024;

std::size_t kind_of(std::size_t capacity) {
    return static_cast<std::size_t>(std::countr_zero(capacity));
}

}  // namespace

lent_buffer* lent_buffers::take(std::size_t bytes, bool must) {
    const std::size_t capacity = std::max(std::bit_ceil(bytes), least_capacity);
    std::vector<lent_buffer*>& free = free_[kind_of(capacity)];
    lent_buffer* taken = nullptr;
    if (!free.empty()) {
        taken = free.back();
        free.pop_back();
    } else if (make_room(capacity) || must) {
        taken = make(capacity);
    }
    if (taken != nullptr) lent_.fetch_add(1, std::memory_order_relaxed);
    return taken;
}

void lent_buffers::give_back(lent_buffer* buffer) {
    lent_.fetch_sub(1, std::memory_order_relaxed);
    if (bytes_ > most_bytes_) return drop(buffer);
    free_[kind_of(buffer->capacity)].push_back(buffer);
}

lent_buffer* lent_buffers::make(std::size_t capacity) {
    auto made = std::make_unique<lent_buffer>();
    made->bytes = std::make_unique_for_overwrite<std::byte[]>(capacity);
    made->capacity = capacity;
    if (end_ != nullptr) {
        made->key = draw_secret();
        made->offered = end_->lend({made->bytes.get(), capacity}, made->key);
        if (made->offered == nullptr) return nullptr;
    }
    bytes_ += capacity;
    all_.push_back(std::move(made));
    return all_.back().get();
}

/// Buffers of other capacities that nobody has make way.
bool lent_buffers::make_room(std::size_t bytes) {
    for (std::vector<lent_buffer*>& free : free_) {
        while (bytes_ + bytes > most_bytes_ && !free.empty()) {
            drop(free.back());
            free.pop_back();
        }
    }
    return bytes_ + bytes <= most_bytes_;
}

void lent_buffers::drop(lent_buffer* buffer) {
    bytes_ -= buffer->capacity;
    std::erase_if(all_, [&](const auto& one) { return one.get() == buffer; });
}

}  // namespace selion::machine::fabric
