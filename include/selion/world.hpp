// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include <selion/detail/export.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/global_ptr.hpp>
#include <selion/machines.hpp>
#include <selion/rank.hpp>
#include <selion/reduction.hpp>

namespace selion {

class world;
class rank_scope;

namespace detail {
SELION_API void barrier(rank_context& context, std::source_location site);
SELION_API void sync(rank_context& context, std::source_location site);
SELION_API void broadcast(rank_context& context, std::span<std::byte> data, team_rank root,
                          std::source_location site);
SELION_API void all_reduce(rank_context& context, void* data, std::size_t count,
                           const reduction& how, std::source_location site);
}  // namespace detail

/// A group of ranks that calls collectives together. Every member calls the same collectives in the
/// same order; each returns when this rank's part is done and its data may be used.
class team {
public:
    explicit team(detail::rank_context& context) noexcept : context_(&context) {}

    team_rank rank() const noexcept { return context_->rank; }
    std::uint32_t size() const noexcept { return context_->ranks; }
    /// World rank of a member. @param member 0 .. size() - 1.
    rank_id world_rank(team_rank member) const noexcept {
        return static_cast<std::uint32_t>(member);
    }

    /// Waits for all members; includes `quiet()`: puts that any member made before are visible to
    /// every member after.
    void barrier(std::source_location site = std::source_location::current()) const {
        detail::barrier(*context_, site);
    }

    /// Waits for all members without completing their outstanding one-sided operations.
    void sync(std::source_location site = std::source_location::current()) const {
        detail::sync(*context_, site);
    }

    /// Every member returns the value that `root` passed.
    /// @param root a member, 0 .. size() - 1.
    template <transferable T>
    [[nodiscard]] T broadcast(T value, team_rank root,
                              std::source_location site = std::source_location::current()) const {
        detail::broadcast(*context_, std::as_writable_bytes(std::span(&value, 1)), root, site);
        return value;
    }

    /// Fills every member's `data` with that of `root`. All members pass equally many elements.
    template <transferable T, std::size_t Extent>
    void broadcast(std::span<T, Extent> data, team_rank root,
                   std::source_location site = std::source_location::current()) const {
        detail::broadcast(*context_, std::as_writable_bytes(data), root, site);
    }

    /// Combines one value of every member, in the order of the ranks and in the association that
    /// selion/reduction.hpp tells; all return the result, bit for bit the same, on every machine.
    /// @cost where ranks map each other: one barrier; else 2 (size - 1) messages in all for up to
    /// 48 bytes, each member sending and receiving at most 2 log2(size).
    template <transferable T, class Operation>
    [[nodiscard]] T all_reduce(T value, const Operation& operation,
                               std::source_location site = std::source_location::current()) const {
        detail::all_reduce(*context_, &value, 1, detail::erase_reduction<T>(operation), site);
        return value;
    }

    /// Combines element by element, in place. All members pass equally many elements.
    template <transferable T, std::size_t Extent, class Operation>
    void all_reduce(std::span<T, Extent> data, const Operation& operation,
                    std::source_location site = std::source_location::current()) const {
        detail::all_reduce(*context_, data.data(), data.size(),
                           detail::erase_reduction<T>(operation), site);
    }

protected:
    detail::rank_context& context() const noexcept { return *context_; }

private:
    friend class rank_scope;
    detail::rank_context* context_;
};

/// How a job treats threads that its ranks start themselves.
enum class thread_level {
    single,      ///< only the rank's own thread calls Selion
    serialized,  ///< threads may join a rank, one of them calls at a time
    multiple,    ///< threads may join a rank and call at the same time
};

/// Bytes of a rank's segment 0.
struct heap_usage {
    std::uint64_t used_bytes;      ///< allocated by this rank, collective and local
    std::uint64_t reserved_bytes;  ///< what it may grow to
};

/// The team of all ranks, and what a rank knows about its job.
class world : public team {
public:
    explicit world(detail::rank_context& context) noexcept : team(context) {}

    rank_id rank() const noexcept { return context().rank; }

    /// Steady time of the machine in nanoseconds; virtual on a simulated machine. Differences
    /// between ranks of one host are meaningful.
    SELION_API std::int64_t now() const;
    /// The same in picoseconds, for machines whose time is finer than a nanosecond.
    SELION_API std::int64_t now_ps() const;
    /// The machine this job runs on.
    SELION_API const machine_description& machine() const;
    SELION_API selion::thread_level thread_level() const;
    /// Who sees to messages for this rank: option `progress` of the machine.
    SELION_API progress_kind progress() const;
    SELION_API heap_usage heap() const;
    /// Where each rank runs, one line per rank: process, thread, bound processor.
    SELION_API std::string binding_report() const;
};

}  // namespace selion
