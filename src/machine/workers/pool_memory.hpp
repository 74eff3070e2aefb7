// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/workers/worker_area.hpp"
#include "selion/error.hpp"

namespace selion::machine::workers {

/// What a pool's memory must hold.
struct pool_plan {
    std::uint32_t workers = 0;
    std::uint64_t shared_bytes = 0;  ///< that every worker sees, beside the head
    std::uint64_t memory_bytes = 0;  ///< of each worker
    bool is_file = false;            ///< other processes map it: a sealed memfd
    bool measures = false;
    waiting_policy waiting;
};

/// One range of addresses: a head, memory that all share, and an area for each worker. Pages cost
/// nothing until they are touched.
class pool_memory {
public:
    /// @error out_of_memory: the address space or the file cannot be had.
    static result<pool_memory> create(const pool_plan& plan);
    /// A worker's own view: the head and what all share, then its area alone.
    /// @param file that it has inherited.
    static result<pool_memory> attach(int file, std::uint32_t worker);

    pool_memory(pool_memory&& other) noexcept;
    pool_memory& operator=(pool_memory&&) = delete;
    ~pool_memory();

    pool_head& head() const { return *reinterpret_cast<pool_head*>(start_); }
    std::byte* start() const { return start_; }
    /// @param worker counted in this view.
    worker_area& area(std::uint32_t worker) const;
    /// The worker's memory, `head().memory_bytes` long.
    std::byte* memory(std::uint32_t worker) const;
    /// Where it begins in the view of the worker that it belongs to.
    std::uint64_t memory_place() const;
    /// Memory that all share.
    std::byte* shared() const;
    std::uint64_t shared_bytes() const;
    /// All is as in the beginning for a new worker.
    void clear(std::uint32_t worker) const;
    int file() const { return file_; }

private:
    pool_memory(std::byte* start, std::uint64_t bytes, int file)
        : start_(start), bytes_(bytes), file_(file) {}

    std::byte* start_;
    std::uint64_t bytes_;
    int file_;
};

}  // namespace selion::machine::workers
