// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <selion/charge.hpp>
#include <selion/rank_scope.hpp>
#include <selion/world.hpp>

#include "caller.hpp"
#include "living.hpp"
#include "module.hpp"
#include "under_way.hpp"

namespace bindings {

namespace {

/// Of the ranks in this process.
std::vector<nb::object>& worlds() {
    static auto* const all = new std::vector<nb::object>;  // outlives Python
    return *all;
}

/// Any thread may ask, also one that has not joined.
const selion::world& expect_living(const selion::world& all) {
    if (all.is_member()) [[likely]]
        return all;
    refuse_now("The job of this world is over.");
}

void end_worlds() {
    for (const nb::object& each : std::exchange(worlds(), {})) {
        static_cast<selion::team&>(nb::cast<selion::world&>(each)) =
            no_team(selion::detail::current_context);
    }
}

/// `with world.joined_thread():`
class joined_thread {
public:
    explicit joined_thread(const selion::world& all) : all_(all) {}
    joined_thread(const joined_thread&) = delete;
    joined_thread& operator=(const joined_thread&) = delete;
    ~joined_thread() {
        // Only the thread itself can leave. The garbage collector runs on any.
        if (!is_in()) static_cast<void>(scope_.release());
    }
    void enter() {
        if (scope_) refuse_now("A thread is within this block: call joined_thread() for each.");
        expect_may_join();
        note_place();
        scope_.reset(new selion::rank_scope(all_, std::source_location::current()));
        thread_ = PyThread_get_thread_ident();
    }
    void leave() {
        if (!is_in()) refuse_now("This thread has not entered the block that it leaves.");
        scope_.reset();
    }

private:
    bool is_in() const { return scope_ && thread_ == PyThread_get_thread_ident(); }
    /// Raises where the library would end the job.
    void expect_may_join() const {
        const char* trouble = nullptr;
        if (!expect_living(all_).machine().capabilities.real_time) {
            trouble = "A rank of a simulated machine is one thread: no other can join it.";
        } else if (all_.thread_level() == selion::thread_level::single) {
            trouble =
                "Threads may join a rank only where the job says so: pass "
                "thread_level='multiple' to selion.run.";
        } else if (selion::detail::current_context->ranks != 0) {
            trouble = "This thread works for a rank already.";
        }
        if (trouble != nullptr) refuse_now(trouble);
    }

    const selion::world& all_;
    std::unique_ptr<selion::rank_scope> scope_;
    unsigned long thread_ = 0;  ///< that has entered
};

std::int64_t now(const selion::world& all) {
    expect_member(all);
    const yield_to_simulated_ranks free;
    return all.now();
}

void charge(const selion::world& all, std::uint64_t flops, std::uint64_t int_ops,
            std::uint64_t loads, std::uint64_t stores, std::uint64_t copied_bytes, double ns) {
    expect_member(all);
    if (!(ns >= 0 && ns <= 1e15)) {
        throw nb::value_error("ns is the time to spend; legal: 0 to 1e15 nanoseconds.");
    }
    const yield_to_simulated_ranks free;
    selion::charge({.flops = flops,
                    .int_ops = int_ops,
                    .loads = loads,
                    .stores = stores,
                    .copied_bytes = copied_bytes,
                    .picoseconds = std::llround(ns * 1000)});
}

std::vector<std::uint32_t> dead_ranks(const selion::world& all) {
    enter_call("dead_ranks");
    expect_member(all);
    const nb::gil_scoped_release free;
    const std::vector<selion::rank_id> dead = all.dead_ranks();
    return {dead.begin(), dead.end()};
}

}  // namespace

lasting_job::~lasting_job() {
    if (selion::detail::current_context->ranks != 0) return;  // a rank has asked for a job
    end_teams();
    end_worlds();
    let_go_of_jobs();
}

void leave_rank() { end_worlds(); }

nb::object world_object(const selion::world& all) {
    return worlds().emplace_back(nb::cast(all, nb::rv_policy::copy));
}

documented<selion::world, selion::team> add_world(nb::module_& module) {
    using selion::world;

    documented<joined_thread>(module, "JoinedThread")
        .def("__enter__", &joined_thread::enter)
        .def("__exit__", [](joined_thread& self, const nb::args&) { self.leave(); });

    return documented<world, selion::team>(module, "World", nb::dynamic_attr())
        .def_prop_ro("rank",
                     [](const world& all) -> std::uint32_t { return expect_living(all).rank(); })
        .def_prop_ro("size", [](const world& all) { return expect_living(all).size(); })
        .def_prop_ro("machine", [](const world& all) { return expect_living(all).machine().spec; })
        .def("now", &now)
        .def("charge", &charge, nb::kw_only(), nb::arg("flops") = 0, nb::arg("int_ops") = 0,
             nb::arg("loads") = 0, nb::arg("stores") = 0, nb::arg("copied_bytes") = 0,
             nb::arg("ns") = 0.0)
        .def(
            "allocate",
            [](nb::handle all, nb::handle shape, nb::handle dtype) {
                return nb::module_::import_("selion.arrays").attr("allocate")(all, shape, dtype);
            },
            nb::arg("shape"), nb::arg("dtype") = "float64")
        .def(
            "spread",
            [](nb::handle all, nb::handle shape, nb::handle dtype, nb::handle layout) {
                return nb::module_::import_("selion.spread")
                    .attr("spread")(all, shape, dtype, layout);
            },
            nb::arg("shape"), nb::arg("dtype") = "float64", nb::arg("layout").none() = nb::none())
        .def(
            "signal",
            [](nb::handle all, nb::handle count) {
                return nb::module_::import_("selion.arrays").attr("signal")(all, count);
            },
            nb::arg("count") = 1)
        .def("dead_ranks", &dead_ranks)
        .def("survivors", &make_survivors)
        .def(
            "joined_thread", [](const world& all) { return std::make_unique<joined_thread>(all); },
            nb::keep_alive<0, 1>())
        .def("__reduce__",
             [](nb::handle self) {
                 return nb::module_::import_("selion.registry").attr("reduced")(self);
             })
        .def("__repr__", [](const world& all) {
            if (!all.is_member()) {
                return std::string("<selion.World of a job that is over>");
            }
            return "<selion.World rank " + std::to_string(all.rank()) + " of " +
                   std::to_string(all.size()) + ">";
        });
}

}  // namespace bindings
