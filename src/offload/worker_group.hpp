// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "machine/workers/routine_list.hpp"
#include "machine/workers/worker_area.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/worker_pool.hpp"

namespace selion::offload {

using machine::workers::call_outcome;
using machine::workers::routine_shape;

/// Asks whether there is anything new.
class news {
public:
    virtual bool are_there() = 0;

protected:
    ~news() = default;
};

/// A call as a worker gets it.
struct sent_call {
    std::uint64_t turn = 0;  ///< number of the call on its worker, from 1
    std::uint32_t routine = 0;
    std::span<const std::uint64_t> words;
};

/// How a call has ended.
struct ended_call {
    call_outcome outcome = call_outcome::done;
    const std::uint64_t* results = nullptr;  ///< valid until the next call of the same slot
    model_time busy{0};                      ///< that the routine took, where the pool measures
    std::int64_t begun_ps = 0;  ///< when it began, on the host's clock; 0: that is not known
};

/// Somewhere in a worker's memory.
struct memory_place {
    std::uint32_t worker = 0;
    std::uint64_t offset = 0;
};

/// The seam of the floor: all workers of a pool, whoever they are. A worker carries out its calls
/// one after another, and they end in that order; at most `depth` are under way on each. Offsets
/// count from the start of a worker's memory; places are what the worker calls them.
class worker_group {
public:
    virtual ~worker_group() = default;
    virtual std::uint32_t size() const = 0;
    /// Whether they are workers of this process, and not of the one that has forked it.
    virtual bool is_own() const { return true; }
    virtual const std::vector<routine_shape>& routines() const = 0;
    virtual std::uint64_t memory_bytes() const = 0;
    /// Whether a worker that computes must not be disturbed.
    virtual bool wants_idle_workers() const { return false; }

    virtual std::uint64_t place_of_own(std::uint32_t worker, std::uint64_t offset) const = 0;
    /// Place of memory of the host's that workers can reach.
    virtual std::optional<std::uint64_t> place_of_host(const void*, std::size_t) const {
        return std::nullopt;
    }
    /// Lets bytes travel with the call, where there is room in it. @return their place.
    /// @param words of the call's frame.
    virtual std::optional<std::uint64_t> pack(std::uint64_t /*turn*/, std::uint32_t /*words*/,
                                              const void*, std::size_t) {
        return std::nullopt;
    }
    /// Memory of the host that workers see as well.
    virtual std::span<std::byte> shared() const { return {}; }
    /// Keeps that mapped.
    virtual std::shared_ptr<void> shared_life() const { return nullptr; }
    virtual void write(std::uint32_t worker, std::uint64_t offset, const void* data,
                       std::size_t bytes) = 0;
    /// The same bytes to several places, at once where the machine can.
    virtual void write_all(std::span<const memory_place> places, const void* data,
                           std::size_t bytes) {
        for (const memory_place& each : places) write(each.worker, each.offset, data, bytes);
    }
    virtual void read(std::uint32_t worker, std::uint64_t offset, void* data,
                      std::size_t bytes) = 0;
    /// From one worker's memory to another's. @pre both have nothing to do.
    /// @param turn number of a call on the first one, if it has to do it itself.
    /// @return whether it has to: then it has been sent this call, which brings no reply.
    virtual bool copy(const memory_place& from, const memory_place& to, std::size_t bytes,
                      std::uint64_t turn) = 0;
    /// The host has seen that such a call has ended.
    virtual void end_copy() {}

    virtual void send(std::uint32_t worker, const sent_call& call) = 0;
    virtual bool has_ended(std::uint32_t worker, std::uint64_t turn) = 0;
    /// @pre it has ended. @param has_results something of it is read next.
    virtual ended_call take(std::uint32_t worker, std::uint64_t turn, bool has_results) = 0;
    /// Of an exception: its type, a zero, what it says.
    virtual std::string text(std::uint32_t worker, std::uint64_t turn) = 0;
    virtual void cancel(std::uint32_t worker, std::uint64_t turn) = 0;
    /// Whether calls can be taken back that have been sent.
    virtual bool can_take_back() const { return false; }
    /// Takes a call back that comes after another one. @pre `can_take_back`; it is not cancelled,
    /// and the one before has not been taken.
    /// @return whether it is the host's again: the worker will skip it, and never touch what it was
    /// given. False: it runs, or has run, or is skipped nevertheless, which its end tells.
    virtual bool take_back(std::uint32_t /*worker*/, std::uint64_t /*turn*/) { return false; }

    /// Waits a while: until there are news, or a moment passes.
    /// @param looks first stays awake for some time; who has done so sleeps at once.
    virtual void rest(std::int64_t deadline_ns, bool looks, news& look) = 0;
    /// Any thread: a host that rests looks for news now.
    virtual void wake_host() {}
    /// For a host that looks again and again without resting: others get their turn.
    virtual void let_others_run() {}
    virtual std::int64_t now_ns() const = 0;
    /// For records: picoseconds since some moment. A look costs nothing where time is virtual.
    virtual std::int64_t stamp_ps() const { return now_ns() * 1000; }

    /// How a worker has ended that should not have; nothing while it lives.
    virtual std::optional<std::string> ending(std::uint32_t) { return std::nullopt; }
    /// Whether a worker whose routine does not return can be ended.
    virtual bool can_kill() const { return false; }
    /// Ends it if it still runs that call, and not after it.
    virtual void kill_in(std::uint32_t /*worker*/, std::uint64_t /*turn*/) {}
    /// Ends them all at once, for good. @pre `can_kill`.
    virtual void kill_all() {}
    /// Calls that it had begun. @pre it has ended.
    virtual std::uint64_t begun(std::uint32_t) const { return 0; }
    /// Another worker in its place, as soon as `is_there` says so. @pre it has ended.
    /// @error system_failure: none can be had, and the place is empty.
    virtual void replace(std::uint32_t) {}
    /// Whether workers that live can be replaced too.
    virtual bool can_renew() const { return false; }
    /// Has one go, and another one take its place. @pre `can_renew`; it has nothing to do.
    virtual void renew(std::uint32_t) {}
    /// Whether the place has its worker; after `replace` and `renew` it has not, for a while in
    /// which this is to be asked again and again. @error system_failure: none can be had, and the
    /// place is empty.
    virtual bool is_there(std::uint32_t) { return true; }
};

/// Threads or processes. @param context of the rank that makes the pool; null: it is none.
std::unique_ptr<worker_group> make_local_group(const worker_pool_options& options,
                                               detail::rank_context* context);

/// A rank's part in a pool whose workers are ranks.
class rank_service {
public:
    virtual ~rank_service() = default;
    /// Runs calls until the host's pool ends. Reports of hangs name `site` meanwhile.
    virtual void serve(std::source_location site) = 0;
};

/// What `make_rank_group` gives a rank: one of the two, or, where it has no part, none.
struct rank_part {
    std::shared_ptr<void> memory;  ///< given back, collectively, after the others
    std::unique_ptr<worker_group> host;
    std::unique_ptr<rank_service> worker;
};
/// Collective. @param site of the pool, for reports of hangs.
rank_part make_rank_group(const worker_pool_options& options, selion::world& world,
                          std::source_location site);

}  // namespace selion::offload
