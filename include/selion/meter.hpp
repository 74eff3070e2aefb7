// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <selion/detail/export.hpp>
#include <selion/team.hpp>

/// Meters: what a piece of code takes, in time or in events, on any machine.
///
///     selion::meter waits("waits of the mesh", "mesh_wait:east");
///     waits.start();
///     …
///     waits.stop();
///     std::printf("%g %s\n", waits.value(), waits.unit().data());
namespace selion {

namespace detail {
struct meter_state;
}

enum class meter_kind {
    software,  ///< as many as one likes
    hardware,  ///< one of the rank's two: what a chip with two timers could measure at a time
};

/// Hardware meters that a rank has.
inline constexpr std::uint32_t hardware_meters = 2;

/// Measures one event between `start` and `stop`, summed over as many runs as one likes. Belongs to
/// the thread that makes it; hardware meters are the rank's own thread's. While a job is recorded
/// (SELION_METERS, SELION_TRACE) each run also goes into its readings, and into the trace, under
/// the meter's name, with the place of its `start`.
///
/// Events, where they are available (`meter_events` says it for the running machine):
///
/// - `clock`, everywhere: time, in cycles where a simulated machine names its clock, else in ns.
/// - `operations`, `bytes`, `collectives`, `waits`, in recorded jobs: operations of the program,
/// the
///   bytes that they have moved, collective calls, and ns for which the rank stood still; all, or
///   those of a name or for a reason: `operations:put`, `collectives:barrier`, `waits:signal`.
/// - `messages`, `message_bytes`, on simulated machines and on `fabric`: what the rank put into a
///   network, the runtime's own messages included; all, or `:put`, `:get`, `:atomic`, `:message`.
/// - `mesh_wait`, on simulated meshes: cycles in which a store of the core found no room (`:core`),
///   or a link out of its router found no room at its end (`:east`, `:south`, `:west`, `:north`);
///   without a port those in which that was so at one of them or several.
/// - `mesh_access`, `mesh_bytes`, likewise: transactions that went out by a port, and their bytes;
///   without a port by all of them.
/// - `cycles`, `instructions`, `cache_misses` of the processor in user mode, `page_faults` and
///   `context_switches` of the kernel, where that permits it and each rank has a thread of its own;
///   always hardware meters.
class SELION_API meter {
public:
    /// @param name a string literal: its address is kept until the job ends.
    /// @error selion::error: bad_argument for an unknown event or port, or a third hardware meter;
    /// not_available, with the reason, where this machine cannot count that.
    explicit meter(const char* name, std::string_view event = "clock",
                   meter_kind kind = meter_kind::software,
                   std::source_location site = std::source_location::current());
    ~meter();
    meter(meter&& other) noexcept;
    meter& operator=(meter&& other) noexcept;

    /// @pre it does not run. @cost with `clock` less than 30 ns for both on a host whose processor
    /// has a steady counter; nothing where time is virtual.
    void start(std::source_location site = std::source_location::current());
    /// @pre it runs.
    void stop(std::source_location site = std::source_location::current());
    bool is_running() const;
    /// Whether the calling thread is the one of its rank, in its job: no other may start or stop
    /// it.
    bool is_own() const;

    /// Sum over all runs that have ended, without the meter's own overhead.
    double value() const;
    std::string_view unit() const;
    const std::string& event() const;
    const char* name() const;
    std::int64_t runs() const;
    /// What a run of nothing would show, which is subtracted from each run, in `unit`.
    double overhead() const;
    /// Seconds in one unit, for `clock`; else 0.
    double seconds_per_unit() const;
    /// Forgets all runs. @pre it does not run.
    void reset(std::source_location site = std::source_location::current());

private:
    std::unique_ptr<detail::meter_state> state_;
};

/// A run of a meter for as long as this lives, which must not be moved meanwhile.
class meter_run {
public:
    explicit meter_run(meter& which, std::source_location site = std::source_location::current())
        : which_(which), site_(site) {
        which_.start(site_);
    }
    ~meter_run() { which_.stop(site_); }
    meter_run(const meter_run&) = delete;
    meter_run& operator=(const meter_run&) = delete;

private:
    meter& which_;
    std::source_location site_;
};

/// An event that a meter can be asked for.
struct meter_event_info {
    std::string name;  ///< without what may follow a colon
    std::string unit;
    std::vector<std::string> parts;  ///< what may follow, where that is a fixed list
    bool is_available = false;       ///< to the calling rank
    std::string reason;              ///< why not; empty if it is
};
SELION_API std::vector<meter_event_info> meter_events(
    std::source_location site = std::source_location::current());

/// A meter's values over the members of a team.
struct meter_summary {
    double mean = 0;
    double least = 0;
    double most = 0;
    double sum = 0;
    std::vector<double> by_member;
};

/// Collective: all members give a meter of the same event.
SELION_API meter_summary summarise(const team& members, const meter& own,
                                   std::source_location site = std::source_location::current());

}  // namespace selion
