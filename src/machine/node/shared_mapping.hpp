// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "machine/node/bell_layout.hpp"
#include "machine/node/control_block.hpp"
#include "machine/node/mail_area.hpp"
#include "machine/spec.hpp"
#include "selion/error.hpp"

namespace selion::machine::node {

/// What a mapping must hold.
struct mapping_plan {
    node_shape shape;
    std::uint32_t joined_threads = 0;  ///< doorbells per process for threads that join
    std::uint64_t heap_bytes = 0;      ///< reserve per rank; 0: as much as the host has
    std::uint64_t message_bytes = 0;   ///< for data of messages, of each carrier
    bool is_shared = false;            ///< between processes: a sealed memfd; else private memory
    bool fence_signals = false;
    bool has_notifier = false;
    std::uint32_t processors = 0;
    bool have_cores = false;  ///< every carrier has one to itself
    bell_layout bells() const { return {shape, joined_threads, has_notifier}; }
};

/// Address space of a rank when nobody says how much: as much as the host has memory, but not more
/// than its part of what a process may have, nor than an address reaches.
std::uint64_t default_reserve(std::uint32_t ranks, std::uint64_t memory_bytes,
                              std::uint64_t address_bytes);

/// One range of addresses: the control block, then every rank's memory at equal distances. Pages
/// cost nothing until they are touched.
class shared_mapping {
public:
    /// @error out_of_memory when the address space or the file cannot be had, with the size needed.
    static result<shared_mapping> create(const mapping_plan& plan);
    /// The same in an empty memory file, for processes that have been told of the file before: what
    /// is in it counts once it is sealed.
    static result<shared_mapping> create_in(int file, const mapping_plan& plan);
    /// Bytes that each rank's heap will have. @error bad_argument: an address reaches less.
    static result<std::uint64_t> reserve_of(const mapping_plan& plan);
    /// Maps what another process created. @param file an inherited descriptor.
    static result<shared_mapping> attach(int file);

    shared_mapping(shared_mapping&& other) noexcept;
    shared_mapping& operator=(shared_mapping&&) = delete;
    ~shared_mapping();

    control_block& control() const { return *reinterpret_cast<control_block*>(start_); }
    call_record& record(std::uint32_t rank) const;
    /// Of the thread that runs completion handlers beside a rank; null: it can have none.
    call_record* record_beside(std::uint32_t rank) const;
    process_record& process(std::uint32_t index) const;
    doorbell& bell(std::uint32_t index) const;
    mailbox mail(std::uint32_t carrier) const;
    std::byte* start() const { return start_; }
    std::byte* slice(std::uint32_t rank) const;
    bool is_shared() const { return is_shared_; }
    /// Whether only a carrier's own thread ever works for its ranks.
    bool has_one_thread_each() const;
    /// Descriptor of the memfd; -1 when private or given up.
    int file() const { return file_; }
    void close_file();

private:
    shared_mapping(std::byte* start, std::uint64_t bytes, int file, bool is_shared)
        : start_(start), bytes_(bytes), file_(file), is_shared_(is_shared) {}

    std::byte* start_;
    std::uint64_t bytes_;
    int file_;
    bool is_shared_;
};

}  // namespace selion::machine::node
