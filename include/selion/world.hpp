// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <selion/detail/export.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/machines.hpp>
#include <selion/rank.hpp>
#include <selion/team.hpp>

namespace selion {

/// How a job treats threads that its ranks start themselves.
enum class thread_level {
    single,      ///< only the rank's own thread calls Selion
    serialized,  ///< threads may join a rank, one of them calls at a time
    multiple,    ///< threads may join a rank and call at the same time
};

/// Bytes of a rank's heap.
struct heap_usage {
    std::uint64_t used_bytes;      ///< allocated by this rank, collective and local
    std::uint64_t reserved_bytes;  ///< what it may grow to
    std::uint64_t runtime_bytes;   ///< beside what is used: for teams and their collectives
};

/// The team of all ranks, and what a rank knows about its job.
class world : public team {
public:
    SELION_API explicit world(detail::rank_context& context) noexcept;

    [[nodiscard]] rank_id rank() const noexcept { return context().rank; }

    /// Steady time of the machine in nanoseconds; virtual on a simulated machine. Differences
    /// between ranks of one host are meaningful.
    [[nodiscard]] SELION_API std::int64_t now() const;
    /// The same in picoseconds, for machines whose time is finer than a nanosecond.
    [[nodiscard]] SELION_API std::int64_t now_ps() const;
    /// The machine this job runs on.
    [[nodiscard]] SELION_API const machine_description& machine() const;
    [[nodiscard]] SELION_API selion::thread_level thread_level() const;
    /// Who sees to messages for this rank: option `progress` of the machine. It serves none itself;
    /// `selion::progress()` does.
    [[nodiscard]] SELION_API progress_kind progress() const;
    /// By one thread of the rank at a time, as collectives are.
    [[nodiscard]] SELION_API heap_usage heap() const;
    /// Where each rank runs, one line per rank: process, thread, bound processor.
    [[nodiscard]] SELION_API std::string binding_report() const;

    /// The ranks that have died, in the order in which it became known here; only where the job
    /// outlives them (SELION_RANK_DEATH=report). They are acknowledged: no wait for a signal or a
    /// counter ends because of them any more, and operations that they ended are counted.
    [[nodiscard]] SELION_API std::vector<rank_id> dead_ranks(
        std::source_location site = std::source_location::current()) const;

    /// Collective of all ranks that live: a team of them, by rising ranks. Should one more die
    /// meanwhile, it is left out too. Those that it leaves out are acknowledged.
    /// @cost a message from each to each; a team as of `split`.
    [[nodiscard]] SELION_API team
    survivors(std::source_location site = std::source_location::current()) const;
};

}  // namespace selion
