// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "machine/sim/engine/virtual_time.hpp"
#include "machine/sim/model/machine_model.hpp"

namespace selion::machine::sim {

/// Where a hardware thread of a node lies.
struct thread_place {
    std::uint32_t core = 0;   ///< of the node
    std::uint32_t cache = 0;  ///< last cache, of the node
    std::uint32_t socket = 0;
};

enum class access_kind : std::uint8_t { read, write, atomic };

/// A range of bytes that a thread goes through.
struct line_range {
    std::uint64_t bytes;
    access_kind kind;
    std::uintptr_t first;  ///< line
    std::uintptr_t next;   ///< that it asks for next
    std::uintptr_t last;
    ticks begun;
    ticks asked;  ///< when it asks for the next line
    ticks done;   ///< when the bytes so far are there

    bool is_over() const { return next > last; }
};

/// The cache lines of one node: which cores have a copy, which one has changed it, and when the
/// line can be handed on. Caches hold whatever was touched; what nobody has touched comes from
/// memory. A line goes from core to core one transfer after another, so many readers of a changed
/// line queue for it, as they do on a bus or at a directory.
class node_memory {
public:
    explicit node_memory(const node_model& model);

    /// From now on what a thread's core does by itself takes longer: hits, the own part of atomics,
    /// the copying of ranges. Lines go from core to core as before.
    void slow_down(std::uint32_t thread, rate slowness);

    /// Threads fill the cores one after another.
    thread_place place_of(std::uint32_t thread) const;

    /// One line. @param now when the thread asks. @return when it has it.
    ticks access(std::uint32_t thread, std::uintptr_t address, access_kind kind, ticks now);
    /// A range of bytes, line after line. @return when the last byte is there.
    ticks stream(std::uint32_t thread, std::uintptr_t start, std::uint64_t bytes, access_kind kind,
                 ticks now);
    /// The same in parts, between which others may come.
    /// @param bytes at least one.
    line_range range_of(std::uintptr_t start, std::uint64_t bytes, access_kind kind,
                        ticks now) const {
        return {.bytes = bytes,
                .kind = kind,
                .first = start / model_.line_bytes,
                .next = start / model_.line_bytes,
                .last = (start + bytes - 1) / model_.line_bytes,
                .begun = now,
                .asked = now,
                .done = now};
    }
    /// Asks for a range's lines that the thread comes to before a time.
    void stream(std::uint32_t thread, line_range& range, ticks until);
    /// Floating-point work of a thread, on the units that the threads of its core share.
    /// @return when it is done.
    ticks compute(std::uint32_t thread, ticks work, ticks now);
    /// What a line takes from one thread's core to another's.
    ticks way_between(std::uint32_t from_thread, std::uint32_t to_thread) const {
        return way(place_of(from_thread).core, place_of(to_thread).core);
    }

    std::uint64_t transfers() const { return transfers_; }  ///< of lines between cores, so far

private:
    struct line {
        std::uint64_t sharers = 0;       ///< cores with a copy, one bit each
        std::uint32_t owner = nobody;    ///< core that has changed it, and no other has it
        std::uint32_t changer = nobody;  ///< core that has changed it last
        std::uint64_t seen = 0;          ///< threads of that core that know the change
        ticks free_at = 0;               ///< when it can go to the next core
    };
    /// When a socket's memory has a line's time left, with the rest of a tick.
    struct memory_use {
        ticks free_at = 0;
        std::int64_t fraction = 0;  ///< 2^-20 ticks
    };
    static constexpr std::uint32_t nobody = UINT32_MAX;

    /// Work of a thread's own core.
    ticks stretched(std::uint32_t thread, ticks work) const {
        return slowness_.empty() ? work : slowness_[thread].of(static_cast<std::uint64_t>(work));
    }
    ticks fetch(std::uint32_t thread, line& which, access_kind kind, ticks now);
    ticks from_memory(std::uint32_t socket, ticks start);
    /// Of a line that the thread's core has as it needs it.
    ticks own_access(std::uint32_t thread, const line& which) const;
    void note_access(std::uint32_t thread, line& which, access_kind kind) const;
    std::uint64_t bit_in_core(std::uint32_t thread) const {
        return std::uint64_t{1} << thread % model_.threads % 64;
    }
    ticks way(std::uint32_t from_core, std::uint32_t to_core) const;
    ticks longest_way(std::uint64_t cores, std::uint32_t to_core) const;
    ticks shortest_way(std::uint64_t cores, std::uint32_t to_core) const;

    node_model model_;
    std::unordered_map<std::uintptr_t, line> lines_;
    std::vector<rate> slowness_;                   ///< of each thread; empty: all are as described
    std::vector<memory_use> memory_;               ///< of each socket
    std::vector<std::vector<ticks>> fpu_free_at_;  ///< of each core
    std::uint64_t transfers_ = 0;
};

}  // namespace selion::machine::sim
