// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/call_record.hpp"
#include "selion/detail/shared_word.hpp"

/// What the processes of one job share besides the ranks' memory. Offsets, never pointers: each
/// process maps it elsewhere. All zero is the initial state of every part.
namespace selion::machine::node {

inline constexpr std::uint64_t control_magic = 0x314e4f494c4553ull;  // "SELION1"

/// On which a thread sleeps; see waiting.md. Where it sleeps on a pipe (machine fabric), process,
/// descriptor and inode say which; they are there before `sleeping` is set for the first time.
struct alignas(detail::line_bytes) doorbell {
    std::uint32_t count;
    std::uint32_t sleeping;  ///< 0, or what on: see `name_of_word`
    std::int32_t process;
    std::int32_t pipe;
    std::uint64_t pipe_inode;
};
static_assert(sizeof(doorbell) == detail::line_bytes);

/// How one process of the job ended, written by its ranks for the supervisor.
struct alignas(detail::line_bytes) process_record {
    std::uint32_t has_finished;  ///< all its ranks have returned
    std::int32_t status;         ///< first non-zero value that one of them returned
    std::uint32_t joined;        ///< most threads that had joined its ranks at a time
};

/// Before the thread sleeps for the first time. One thread at a time joins a process's ranks.
/// @param slot its place among them.
inline void note_joined(process_record& process, std::uint32_t slot) {
    if (look_at(process.joined) <= slot) publish(process.joined, slot + 1);
}

struct control_block {
    std::uint64_t magic;
    std::uint64_t total_bytes;  ///< of the mapping
    std::uint64_t records_offset;
    std::uint64_t beside_offset;  ///< of the records of threads beside ranks; 0: there are none
    std::uint64_t processes_offset;
    std::uint64_t bells_offset;
    std::uint64_t mail_offset;  ///< of the first carrier's `mail_area`
    std::uint64_t mail_stride_bytes;
    std::uint64_t pool_bytes;  ///< of each of its two pools
    std::uint32_t mail_rings;  ///< for requests, and as many for replies
    std::uint64_t slices_offset;
    std::uint64_t reserve_bytes;  ///< of each rank's heap
    std::uint64_t stride_bytes;   ///< from one rank's heap to the next
    std::uint64_t memory_limit;   ///< bytes of the host that may be committed
    std::uint64_t committed;
    std::int64_t begun_at_ns;  ///< when the mapping was made, on the host's steady clock
    std::uint32_t ranks;
    std::uint32_t bells;
    std::uint32_t fence_signals;
    std::uint32_t has_notifier;  ///< in each process: a thread that serves messages
    /// Processors that the job may use, and whether every carrier has one to itself: as the first
    /// process has found, because ranks choose by it and have to choose alike.
    std::uint32_t processors;
    std::uint32_t have_cores;
    std::uint32_t ending;        ///< 1 once a rank has claimed to end the job
    std::uint32_t thread_level;  ///< of the job; a `selion::thread_level`
    /// Threads that sleep or are about to; in units of `one_listener` those that wait for mail
    /// alone. Every signalling store reads it, so it shares its line with nothing that changes
    /// while ranks are awake.
    alignas(detail::line_bytes) std::uint64_t sleepers;
};

inline constexpr std::uint64_t one_listener = std::uint64_t{1} << 32;

/// Tells words of the mapping apart, nearly always. Whoever takes two for one wakes in vain.
/// @param control at the start of the mapping.
inline std::uint32_t name_of_word(const control_block& control, const detail::shared_word& word) {
    const auto distance =
        reinterpret_cast<std::uintptr_t>(&word) - reinterpret_cast<std::uintptr_t>(&control);
    return static_cast<std::uint32_t>(distance / sizeof(detail::shared_word)) | 1u << 31;
}

}  // namespace selion::machine::node
