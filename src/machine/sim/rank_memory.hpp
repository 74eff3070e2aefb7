// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace selion::machine::sim {

/// Segment 0 of all ranks, one after another in one mapping of private memory. Pages cost nothing
/// until they are touched.
class rank_memory {
public:
    /// @param reserve_bytes of each rank; 0: what the address space gives easily.
    /// @error out_of_memory as an `error` that names SELION_HEAP.
    rank_memory(std::uint32_t ranks, std::uint64_t reserve_bytes);
    ~rank_memory();
    rank_memory(const rank_memory&) = delete;
    rank_memory& operator=(const rank_memory&) = delete;

    std::byte* slice(std::uint32_t rank) const { return start_ + rank * stride_bytes_; }
    std::uint64_t stride_bytes() const { return stride_bytes_; }
    std::uint64_t reserve_bytes() const { return reserve_bytes_; }
    /// Gives whole pages within a range of a slice back to the host.
    void discard(std::uint32_t rank, std::uint64_t offset, std::uint64_t bytes) const;

private:
    std::byte* start_ = nullptr;
    std::uint64_t reserve_bytes_ = 0;
    std::uint64_t stride_bytes_ = 0;
    std::uint64_t total_bytes_ = 0;
};

}  // namespace selion::machine::sim
