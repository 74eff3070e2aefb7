// SPDX-License-Identifier: Apache-2.0
#include "onesided/extent_allocator.hpp"

#include <algorithm>

namespace selion::onesided {
namespace {

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace

std::optional<extent_allocator::extent> extent_allocator::allocate(std::uint64_t bytes,
                                                                   std::uint64_t alignment,
                                                                   std::uint64_t limit) {
    for (auto place = free_.begin(); place != free_.end(); ++place) {
        const auto [start, free_bytes] = *place;
        const std::uint64_t first = align_up(start, alignment);
        if (first - start > free_bytes || free_bytes - (first - start) < bytes) continue;
        free_.erase(place);
        if (first != start) free_[start] = first - start;
        const std::uint64_t rest = start + free_bytes - (first + bytes);
        if (rest != 0) free_[first + bytes] = rest;
        live_[first] = bytes;
        used_ += bytes;
        return extent{first, bytes, true};
    }
    const std::uint64_t first = align_up(frontier_, alignment);
    if (first > limit || bytes > limit - first) return std::nullopt;
    if (first != frontier_) free_[frontier_] = first - frontier_;
    frontier_ = first + bytes;
    const bool was_used = first < highest_;
    highest_ = std::max(highest_, frontier_);
    live_[first] = bytes;
    used_ += bytes;
    return extent{first, bytes, was_used};
}

std::optional<std::uint64_t> extent_allocator::deallocate(std::uint64_t start) {
    const auto place = live_.find(start);
    if (place == live_.end()) return std::nullopt;
    const std::uint64_t bytes = place->second;
    live_.erase(place);
    used_ -= bytes;
    auto merged = free_.emplace(start, bytes).first;
    if (const auto next = std::next(merged);
        next != free_.end() && merged->first + merged->second == next->first) {
        merged->second += next->second;
        free_.erase(next);
    }
    if (merged != free_.begin()) {
        const auto before = std::prev(merged);
        if (before->first + before->second == merged->first) {
            before->second += merged->second;
            free_.erase(merged);
            merged = before;
        }
    }
    if (merged->first + merged->second == frontier_) {
        frontier_ = merged->first;
        free_.erase(merged);
    }
    return bytes;
}

std::uint64_t extent_allocator::largest_gap() const {
    std::uint64_t largest = 0;
    for (const auto& [start, bytes] : free_) largest = std::max(largest, bytes);
    return largest;
}

}  // namespace selion::onesided
