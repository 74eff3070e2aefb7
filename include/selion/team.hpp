// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <utility>

#include <selion/collective_choice.hpp>
#include <selion/collective_explanation.hpp>
#include <selion/detail/block_call.hpp>
#include <selion/detail/element_memory.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/late_memory.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/detail/team_view.hpp>
#include <selion/global_ptr.hpp>
#include <selion/rank.hpp>
#include <selion/reduction.hpp>
#include <selion/split_phase_collectives.hpp>
#include <selion/time_limit.hpp>
#include <selion/varying_collectives.hpp>

namespace selion {

class rank_scope;
class team;
class world;

/// What ranks may have in common.
enum class locality {
    process,  ///< one process: they share its memory and its files
    cache,    ///< processors that share a last-level cache
    socket,   ///< processors of one package
    node,     ///< one host, or one node of a simulated machine
};

namespace detail {
SELION_API void barrier(const team_view& team, std::source_location site);
SELION_API void sync(const team_view& team, std::source_location site);
SELION_API void arrive(const team_view& team, std::source_location site);
SELION_API void wait(const team_view& team, std::source_location site);
SELION_API void all_reduce(const team_view& team, void* data, std::size_t count,
                           const reduction& how, std::source_location site);
}  // namespace detail

/// A group of ranks that calls collectives together. Every member calls the same collectives in the
/// same order; each returns when this rank's part is done and its data may be used. A rank may be a
/// member of many teams, and members of different teams do not wait for each other.
///
/// `split` and `subteam` make teams. A handle may be copied; the team lives as long as a handle of
/// it does at any member, and its memory is used again when all members have let theirs go. Letting
/// one go waits for nobody where members share memory, else for what this rank has sent to be
/// taken; any thread may do it. Where a rank is no member its handle is empty: `size()` is 0, and a
/// collective of it ends the job with a sentence. One that has been moved from is empty as well,
/// but for that of all ranks.
class team : public varying_collectives {
public:
    /// In place of a colour: this rank becomes a member of no new team.
    static constexpr std::uint32_t no_colour = UINT32_MAX;

    /// Collective of this team: its members that pass the same colour make a team.
    /// @param colour any number but `no_colour`, which returns an empty handle.
    /// @param key members are numbered by rising keys, and where they are equal as they are here.
    /// @cost an all_gather of 32 bytes from each member; 88 KiB of each member's heap, most of
    /// which is never touched. Too little heap ends in selion::error.
    [[nodiscard]] SELION_API team
    split(std::uint32_t colour, std::int64_t key = 0,
          std::source_location site = std::source_location::current()) const;

    /// Those that have a place in common with this rank, numbered as they are here. Ranks that are
    /// not bound to a processor are taken to lie together.
    [[nodiscard]] SELION_API team
    split(locality where, std::source_location site = std::source_location::current()) const;

    /// Collective of this team: a team of the members that are listed, numbered as in the list. The
    /// others get an empty handle.
    /// @param members the same list at all members of this team; each at most once.
    [[nodiscard]] SELION_API team
    subteam(std::span<const team_rank> members,
            std::source_location site = std::source_location::current()) const;

    /// From now on this team carries out a collective as `how` says, wherever that is possible;
    /// nothing: as the runtime thinks best. A schedule that does not keep the order of the members
    /// needs operations that commute, and may combine in another association.
    /// @param how its schedule's collective, ranks and root are those of each call. All members set
    /// the same between the same calls.
    SELION_API void choose(collective_kind what, const std::optional<collective_choice>& how,
                           std::source_location site = std::source_location::current()) const;

    /// The same team, whose collectives are synchronised as `sync` says:
    /// `world.with(selion::strict).broadcast(x, 0)`. All members pass the same. Barriers and what
    /// is made by `split` are as ever.
    [[nodiscard]] team with(const collective_sync& sync) const {
        team same = *this;
        same.synchronise_as(sync);
        return same;
    }

    /// The same team, whose collectives end in an error when they have taken so long. The team is
    /// then no longer usable at any member that has got the error: it may hold half of a
    /// collective, and calling one ends the job. Other teams are. Members that come late may still
    /// read and write what the call was given.
    /// @error selion::error, status::timed_out, from each collective.
    [[nodiscard]] team with_timeout(time_limit timeout) const {
        team same = *this;
        same.end_after(timeout.nanoseconds());
        return same;
    }

    /// The same collectives in two phases: each starts and returns a future.
    [[nodiscard]] split_phase_collectives split_phase() const noexcept { return {view(), life_}; }

    /// How this team would carry out a collective now, why, and what the alternatives take:
    /// measured by `selion tune`, or predicted. For one thread at a time, as collectives are.
    /// @param bytes of one block, as one member gives or gets it; a reduction is taken to be of
    /// numbers of 8 bytes, or of 1 where that does not come out.
    [[nodiscard]] SELION_API collective_explanation
    explain(collective_kind what, std::size_t bytes,
            std::source_location site = std::source_location::current()) const;

    bool is_member() const noexcept { return view().state != nullptr; }
    /// A rank's number in this team, if it is a member. @cost looks through the members.
    [[nodiscard]] SELION_API std::optional<team_rank> rank_of(rank_id rank) const;

    /// Waits for all members; includes `quiet()`: puts that any member made before are visible to
    /// every member after.
    void barrier(std::source_location site = std::source_location::current()) const {
        detail::barrier(view(), site);
    }

    /// A barrier in two halves, for work in between that others need not wait for: `arrive` waits
    /// for nobody but for the rank's puts, as `quiet()` does; `wait` until all members have
    /// arrived. Puts that any member made before it arrived are visible after `wait`. Between the
    /// two the rank calls no collective of this team.
    ///
    /// Two kinds of ranks are held up by one that has arrived and computes: those that share its
    /// thread, until it makes progress; and, in a team of more than 32 that do not all share
    /// memory, those that it passes news on to, until it calls `wait`. `split_phase().barrier()`
    /// goes on with all that makes progress.
    /// @cost of a team that does not all share memory: up to 32 members, a message to each other
    /// one, or from each node to each member elsewhere; beyond, as a barrier.
    void arrive(std::source_location site = std::source_location::current()) const {
        detail::arrive(view(), site);
    }
    void wait(std::source_location site = std::source_location::current()) const {
        detail::wait(view(), site);
    }

    /// Waits for all members without completing their outstanding one-sided operations.
    void sync(std::source_location site = std::source_location::current()) const {
        detail::sync(view(), site);
    }

    /// Every member returns the value that `root` passed.
    /// @param root a member, 0 .. size() - 1.
    template <detail::single_value T>
    [[nodiscard]] T broadcast(T value, team_rank root,
                              std::source_location site = std::source_location::current()) const {
        const detail::moved_value<T> own(value);
        run(detail::broadcasting(std::span(&*own, 1), root), site);
        return *own;
    }

    /// Fills every member's `data` with that of `root`. All members pass equally many elements.
    template <detail::changed_memory Data>
    void broadcast(Data&& data, team_rank root,
                   std::source_location site = std::source_location::current()) const {
        run(detail::broadcasting(detail::span_of(data), root), site);
    }

    /// Combines one value of every member, in the order of the ranks and in the association that
    /// selion/reduction.hpp tells; all return the result, bit for bit the same, on every machine.
    /// @cost where ranks map each other: one barrier; else 2 (size - 1) messages in all for up to
    /// 48 bytes, each member sending and receiving at most 2 log2(size).
    template <detail::single_value T, class Operation>
    [[nodiscard]] T all_reduce(T value, const Operation& operation,
                               std::source_location site = std::source_location::current()) const {
        const detail::moved_value<T> own(value);
        detail::all_reduce(view(), &*own, 1, detail::erase_reduction<T>(operation), site);
        return *own;
    }

    /// Combines element by element, in place. All members pass equally many elements.
    template <detail::changed_memory Data, class Operation>
    void all_reduce(Data&& data, const Operation& operation,
                    std::source_location site = std::source_location::current()) const {
        detail::all_reduce(view(), std::data(data), std::size(data),
                           detail::erase_reduction<detail::element_in<Data>>(operation), site);
    }

protected:
    /// The team of all.
    explicit team(const detail::team_view& view) noexcept : varying_collectives(view) {}

private:
    friend class rank_scope;
    friend class world;
    team(const detail::team_view& view, std::shared_ptr<void> life) noexcept
        : varying_collectives(view), life_(std::move(life)) {}
    /// Of members with the same colour; in the order of their keys.
    team make(std::uint32_t colour, std::int64_t key, std::source_location site) const;

    std::shared_ptr<void> life_;  ///< the last handle at this rank leaves the team
};

}  // namespace selion
