// SPDX-License-Identifier: Apache-2.0
#include "under_way.hpp"

#include <algorithm>
#include <list>
#include <utility>

#include "caller.hpp"

namespace bindings {

namespace {

/// Those that nobody waits for. Their memory must stay until they are over; for ever where another
/// job has left it, or where they have ended in an error, because others may still write it. The
/// list stays until the process ends, when there is no interpreter.
std::list<std::unique_ptr<under_way>>& left_alone() {
    static auto* const all = new std::list<std::unique_ptr<under_way>>;
    return *all;
}

/// Looks at a few of them, in turn: who starts one looks at as many whether there are thousands or
/// not, and at more than it adds.
void let_go_of_some() {
    constexpr std::size_t most_looks = 8;
    std::list<std::unique_ptr<under_way>>& all = left_alone();
    for (std::size_t looks = std::min(most_looks, all.size()); looks != 0 && !all.empty();
         --looks) {
        all.splice(all.end(), all, all.begin());
        if (!all.back()->is_done_with()) continue;
        const std::unique_ptr<under_way> gone = std::move(all.back());
        all.pop_back();  // before what it keeps is let go, which may start others
    }
}

}  // namespace

under_way::under_way() : job_(caller().first), rank_(caller().second) {}

std::exception_ptr under_way::trouble() const {
    const std::lock_guard lock(mutex_);
    return trouble_;
}

bool under_way::is_done_with() const {
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
    if (what_ && !what_->is_done_with()) left_alone().push_back(std::move(what_));
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
