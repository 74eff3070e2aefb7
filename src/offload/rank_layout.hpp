// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "machine/workers/worker_area.hpp"
#include "selion/detail/routine_parameter.hpp"
#include "selion/global_ptr.hpp"
#include "selion/machines.hpp"
#include "selion/signal.hpp"

namespace selion::offload {

/// A call in its slot of a worker's memory; what travels with it follows its words. Only as much is
/// sent as is used.
struct rank_request {
    static constexpr std::size_t bytes = 4096;
    std::uint32_t routine;
    std::uint32_t measures;  ///< whether the host wants to know what the routine takes
    std::array<std::uint64_t, bytes / sizeof(std::uint64_t) - 1> content;
};
static_assert(sizeof(rank_request) == rank_request::bytes);

/// Instead of a routine's number: the worker puts some of its memory into another's. Its words are
/// where from, in its memory, the global address where to, and how many bytes.
inline constexpr std::uint32_t copy_routine = machine::workers::stop_routine - 1;

/// What became of it, in the host's memory.
struct rank_reply {
    /// How the call has ended, and in the bits above that one number more: of an exception how long
    /// its text is; else, where the pool measures, picoseconds at which the routine began.
    std::uint64_t head;
    /// Where the pool measures, picoseconds of the routine come first.
    std::array<std::uint64_t, detail::most_result_words + 1> results;

    static constexpr std::uint64_t outcome_bits = 8;
    /// 20 hours of picoseconds: whoever begins later does not say when.
    static constexpr std::uint64_t most_number = ~std::uint64_t{0} >> outcome_bits;
    machine::workers::call_outcome outcome() const {
        return static_cast<machine::workers::call_outcome>(head % (1U << outcome_bits));
    }
    std::uint64_t number() const { return head >> outcome_bits; }
    static constexpr std::uint64_t head_of(machine::workers::call_outcome outcome,
                                           std::uint64_t number) {
        return number << outcome_bits | static_cast<std::uint64_t>(outcome);
    }
};

/// Whether what comes for a worker that computes is kept, and its sender with it, until the worker
/// is idle. Machines whose time is real take what is sent at once, and keep it themselves.
constexpr bool leaves_workers_alone(const machine_capabilities& machine) {
    return machine.moves_idle_ranks_only && !machine.real_time;
}

/// The memory of a rank in a pool of ranks. It lies at the same offset on all of them, so each can
/// name the others'.
class rank_layout {
public:
    rank_layout(std::uint32_t workers, std::uint32_t slots, std::uint64_t memory_bytes)
        : workers_(workers), slots_(slots), memory_bytes_(memory_bytes) {}

    /// Set by the host: calls that it has sent. One of the worker.
    static std::uint64_t calls() { return 0; }
    /// Set by workers: calls that they have ended. As many as there are workers, of the host.
    static std::uint64_t ended(std::uint32_t worker) { return (1 + worker) * apart; }
    std::uint64_t reply(std::uint32_t worker, std::uint64_t turn) const {
        return ended(workers_) + (worker * slots_ + turn % slots_) * sizeof(rank_reply);
    }
    /// A signal: number of the call in a slot that the host has given up.
    std::uint64_t cancelled(std::uint64_t turn) const {
        return aligned(reply(workers_, 0)) + turn % slots_ * sizeof(signal);
    }
    std::uint64_t text(std::uint64_t turn) const {
        return aligned(reply(workers_, 0)) + slots_ * sizeof(signal) +
               turn % slots_ * machine::workers::most_error_text;
    }
    std::uint64_t request(std::uint64_t turn) const {
        return aligned(text(0) + slots_ * machine::workers::most_error_text) +
               turn % slots_ * rank_request::bytes;
    }
    std::uint64_t memory() const { return aligned(request(0) + slots_ * rank_request::bytes); }
    std::uint64_t memory_bytes() const { return memory_bytes_; }
    std::uint64_t bytes() const { return memory() + memory_bytes_; }
    std::uint32_t slots() const { return slots_; }

private:
    static constexpr std::uint64_t apart = detail::line_bytes;
    static std::uint64_t aligned(std::uint64_t offset) { return (offset + 63) / 64 * 64; }

    std::uint32_t workers_;
    std::uint32_t slots_;
    std::uint64_t memory_bytes_;
};

/// The memory itself.
struct rank_memory {
    global_ptr<std::byte> start;  ///< of the calling rank
    rank_layout layout;
    bool measures = false;

    global_ptr<std::byte> at(rank_id rank, std::uint64_t offset) const {
        return start.on(rank) + static_cast<std::ptrdiff_t>(offset);
    }
    global_ptr<signal> signal_at(rank_id rank, std::uint64_t offset) const {
        return global_ptr<signal>(at(rank, offset).bits());
    }
    template <class T>
    T& own(rank_id self, std::uint64_t offset) const {
        return *reinterpret_cast<T*>(at(self, offset).local());
    }
};

}  // namespace selion::offload
