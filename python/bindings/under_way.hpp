// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace bindings {

namespace nb = nanobind;

/// An operation that a rank has started, with all that must stay until it is over.
class under_way {
public:
    under_way();
    under_way(const under_way&) = delete;
    under_way& operator=(const under_way&) = delete;
    virtual ~under_way() = default;

    /// Makes no progress.
    virtual bool is_over() const = 0;
    /// @param time none: for ever. @return whether it is over. @error what has ended it, also when
    /// it is asked again.
    bool finish(std::optional<std::chrono::nanoseconds> time);

    /// Whether the calling thread works for the rank that has started it: nobody else may ask, and
    /// nobody at all when the job is over.
    bool is_own() const;

    /// The job and the rank that have started it.
    std::pair<std::uint32_t, std::uint32_t> place() const { return {job_, rank_}; }

    /// Whether nobody will touch its memory any more, and the calling thread may let it go: also of
    /// a job that is over, unless ranks may have died in it.
    bool is_done_with() const;

    /// It is over: lets go of what it has kept for others. With the GIL, perhaps several times.
    virtual void let_go() {}

protected:
    /// Whether others may still read or write its memory when it has ended in an error.
    virtual bool has_memory_of_others() const { return true; }
    /// Whether a death has ended it, even if it counts as complete by now.
    virtual bool is_lost() const { return false; }
    /// As `finish`, which calls it no more once it has thrown and it is over.
    virtual bool wait(std::optional<std::chrono::nanoseconds> time) = 0;

private:
    std::uint32_t job_;
    std::uint32_t rank_;
    bool outlives_deaths_;  ///< the job goes on where ranks die
    std::exception_ptr trouble() const;
    mutable std::mutex mutex_;    ///< of what follows: several threads may wait
    std::exception_ptr trouble_;  ///< what has ended it
};

/// What Python holds of it. What is let go goes on, and keeps its memory until it is over.
class started {
public:
    explicit started(std::unique_ptr<under_way> what);
    started(started&&) = default;
    ~started();

    /// Whether it is over, or has ended in an error. Serves others if it is not.
    bool is_ready() const;
    /// @param seconds none: for ever. @return whether it is over. @error ValueError; what has
    /// ended it
    bool wait(std::optional<double> seconds) const;

    template <class What>
    What& as() const {
        return static_cast<What&>(*what_);
    }

private:
    void expect_own() const;
    /// Without the GIL.
    bool finish(std::optional<std::chrono::nanoseconds> time) const;

    std::unique_ptr<under_way> what_;
};

/// Of jobs that are over nobody waits for anything any more. @pre there is no rank any more, and
/// the GIL is held
void let_go_of_jobs();

/// @error ValueError for what is no time-out.
std::optional<std::chrono::nanoseconds> time_of(std::optional<double> seconds);

}  // namespace bindings
