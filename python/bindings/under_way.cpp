// SPDX-License-Identifier: Apache-2.0
#include "under_way.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <utility>

#include "caller.hpp"

namespace bindings {

namespace {

using list = std::list<std::unique_ptr<under_way>>;

/// Those that nobody waits for, by job and rank: only the rank itself can tell of its own. Their
/// memory must stay until they are over; for ever where they have ended in an error, because others
/// may still write it. The lists stay until the process ends, when there is no interpreter.
/// @pre the GIL is held
std::map<std::pair<std::uint32_t, std::uint32_t>, list>& left_alone() {
    static auto* const all = new std::map<std::pair<std::uint32_t, std::uint32_t>, list>;
    return *all;
}

/// Of the jobs of this process; all before them are over, too.
std::uint32_t newest_job = 0;
std::uint32_t newest_over = 0;

/// Looks at a few of the calling rank's, in turn: who starts one looks at as many whether there are
/// thousands or not, and at more than it adds.
void let_go_of_some() {
    constexpr std::size_t most_looks = 8;
    const auto found = left_alone().find(caller());
    if (found == left_alone().end()) return;
    list& own = found->second;
    for (std::size_t looks = std::min(most_looks, own.size()); looks != 0 && !own.empty();
         --looks) {
        own.splice(own.end(), own, own.begin());
        if (!own.back()->is_done_with()) continue;
        const std::unique_ptr<under_way> gone = std::move(own.back());
        own.pop_back();  // before what it keeps is let go, which may start others
    }
}

}  // namespace

void let_go_of_jobs() {
    newest_over = newest_job;
    for (auto& [place, all] : std::exchange(left_alone(), {})) {
        for (std::unique_ptr<under_way>& each : all) {
            if (!each->is_done_with()) static_cast<void>(each.release());
        }
    }
}

under_way::under_way()
    : job_(caller().first),
      rank_(caller().second),
      outlives_deaths_(selion::detail::current_context->deaths != nullptr) {
    newest_job = std::max(newest_job, job_);
}

std::exception_ptr under_way::trouble() const {
    const std::lock_guard lock(mutex_);
    return trouble_;
}

bool under_way::is_done_with() const {
    if (job_ <= newest_over) return !outlives_deaths_;
    return is_own() && is_over() && !(has_memory_of_others() && (trouble() || is_lost()));
}

bool under_way::is_own() const {
    return selion::detail::current_context->ranks != 0 && caller() == std::pair(job_, rank_);
}

bool under_way::finish(std::optional<std::chrono::nanoseconds> time) {
    if (const std::exception_ptr before = trouble(); before) std::rethrow_exception(before);
    try {
        return wait(time);
    } catch (...) {
        if (is_over()) {
            const std::lock_guard lock(mutex_);
            trouble_ = std::current_exception();
        }
        throw;
    }
}

started::started(std::unique_ptr<under_way> what) : what_(std::move(what)) { let_go_of_some(); }

started::~started() {
    if (what_ && !what_->is_done_with()) left_alone()[what_->place()].push_back(std::move(what_));
}

bool started::is_ready() const {
    expect_own();
    if (what_->is_over()) {
        what_->let_go();
        return true;
    }
    if (selion::detail::current_context->own.in_handler) return false;
    try {
        return finish(std::chrono::nanoseconds(0));
    } catch (...) {
        return true;  // who waits is told
    }
}

bool started::wait(std::optional<double> seconds) const {
    expect_own();
    const auto time = time_of(seconds);
    if (!what_->is_over()) enter_call("This call");
    return finish(time);
}

bool started::finish(std::optional<std::chrono::nanoseconds> time) const {
    bool is_over = false;
    {
        const nb::gil_scoped_release free;
        is_over = what_->finish(time);
    }
    if (is_over) what_->let_go();
    return is_over;
}

void started::expect_own() const {
    expect_rank();
    if (what_->is_own()) return;
    PyErr_SetString(PyExc_RuntimeError,
                    "This future belongs to another rank, or to a job that has ended.");
    throw nb::python_error();
}

std::optional<std::chrono::nanoseconds> time_of(std::optional<double> seconds) {
    if (!seconds) return std::nullopt;
    if (!(*seconds >= 0 && *seconds <= 9e9)) {
        throw nb::value_error("A time-out is a number of seconds; legal: 0 to 9e9.");
    }
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(*seconds));
}

}  // namespace bindings
