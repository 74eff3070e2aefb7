// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <selion/future.hpp>
#include <selion/team.hpp>

#include "buffer.hpp"
#include "caller.hpp"
#include "module.hpp"
#include "reduce.hpp"

namespace bindings {

namespace {

/// What a started collective reads and writes, and the future of it.
struct under_way {
    nb::object source;
    nb::object target;
    selion::future<> done;
    std::uint32_t job;   ///< that it belongs to,
    std::uint32_t rank;  ///< and the rank that has started it

    /// Whether the calling thread works for that rank: nobody else may touch the future, and nobody
    /// at all when the job is over.
    bool is_own() const {
        const selion::detail::rank_context& caller = *selion::detail::current_context;
        return caller.ranks != 0 && caller.job == job && caller.rank == rank;
    }
};

/// Those that nobody waits for. Their memory must stay until they are over, and what another job
/// has left for ever; the list, until the process ends, when there is no interpreter.
std::list<std::unique_ptr<under_way>>& left_alone() {
    static auto* const all = new std::list<std::unique_ptr<under_way>>;
    return *all;
}

/// A collective that has been started.
class started {
public:
    explicit started(std::unique_ptr<under_way> what) : what_(std::move(what)) {}
    started(started&&) = default;
    ~started() {
        const bool is_over = !what_ || (what_->is_own() && what_->done.is_ready());
        if (!is_over) left_alone().push_back(std::move(what_));
    }

    bool is_ready() const {
        expect_own();
        return what_->done.is_ready();
    }
    /// @param seconds none: for ever. @return whether it is over.
    bool wait(std::optional<double> seconds) const {
        expect_own();
        if (seconds && !(*seconds >= 0 && *seconds <= 9e9)) {
            throw nb::value_error("A time-out is a number of seconds; legal: 0 to 9e9.");
        }
        const nb::gil_scoped_release free;
        if (!seconds) {
            what_->done.wait();
            return true;
        }
        const std::chrono::duration<double> time(*seconds);
        return what_->done.wait(std::chrono::duration_cast<std::chrono::nanoseconds>(time));
    }

private:
    void expect_own() const {
        expect_rank();
        if (what_->is_own()) return;
        PyErr_SetString(PyExc_RuntimeError,
                        "This future belongs to another rank, or to a job that has ended.");
        throw nb::python_error();
    }

    std::unique_ptr<under_way> what_;
};

started follow(nb::object source, nb::object target, selion::future<> done) {
    left_alone().remove_if([](const auto& one) { return one->is_own() && one->done.is_ready(); });
    const selion::detail::rank_context& caller = *selion::detail::current_context;
    return started(std::make_unique<under_way>(
        under_way{std::move(source), std::move(target), std::move(done), caller.job, caller.rank}));
}

std::span<std::byte> bytes_of(const std::optional<buffer>& memory) {
    return memory ? std::span(memory->data(), memory->bytes()) : std::span<std::byte>();
}

started start_moving(const selion::team& all, std::string_view what, nb::object source,
                     nb::object target, std::uint32_t root) {
    expect_caller(all);
    std::optional<buffer> from, to;
    if (!source.is_none()) from.emplace(source, buffer::use::read);
    const bool is_only_read = what == "broadcast" && all.rank() == root;
    if (!target.is_none()) {
        to.emplace(target, is_only_read ? buffer::use::read : buffer::use::write);
    }
    const std::span<const std::byte> given = bytes_of(from);
    const std::span<std::byte> taken = bytes_of(to);
    const selion::split_phase_collectives starting = all.split_phase();
    selion::future<> done;
    {
        const nb::gil_scoped_release free;
        if (what == "barrier") done = starting.barrier();
        if (what == "broadcast") done = starting.broadcast(taken, root);
        if (what == "gather") done = starting.gather(given, taken, root);
        if (what == "all_gather") done = starting.all_gather(given, taken);
        if (what == "scatter") done = starting.scatter(given, taken, root);
        if (what == "exchange") done = starting.exchange(given, taken);
    }
    return follow(std::move(source), std::move(target), std::move(done));
}

started start_combining(const selion::team& all, std::string_view what, nb::object array,
                        std::string_view operation, std::uint32_t root) {
    expect_caller(all);
    selion::future<> done = start_to_combine(all, what, array, operation, root);
    return follow(nb::none(), std::move(array), std::move(done));
}

}  // namespace

void add_started(nb::module_& module, nb::class_<selion::team>& team) {
    nb::class_<started>(module, "Started", "A collective that has been started.")
        .def_prop_ro("is_ready", &started::is_ready, "Whether it is over. Makes no progress.")
        .def("wait", &started::wait, nb::arg("seconds").none() = nb::none(),
             "Waits until it is over, or for so long; returns whether it is.");
    module.def("start_moving", &start_moving, nb::arg("team"), nb::arg("what"),
               nb::arg("source").none(), nb::arg("target").none(), nb::arg("root"),
               "Starts a collective that moves blocks of contiguous memory, or a barrier.");
    module.def("start_combining", &start_combining, nb::arg("team"), nb::arg("what"),
               nb::arg("array"), nb::arg("operation"), nb::arg("root"),
               "Starts all_reduce, reduce, scan or exscan of an array, in place.");
    team.def_prop_ro(
        "split_phase",
        [](nb::handle all) {
            return nb::module_::import_("selion.split_phase").attr("SplitPhase")(all);
        },
        "The same collectives in two phases: each starts and returns a future.");
}

}  // namespace bindings
