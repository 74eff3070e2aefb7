// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include <selion/charge.hpp>
#include <selion/rank_scope.hpp>
#include <selion/world.hpp>

#include "caller.hpp"
#include "living.hpp"
#include "module.hpp"

namespace bindings {

namespace {

std::unordered_set<const selion::world*>& living_worlds() {
    static auto* const all = new std::unordered_set<const selion::world*>;  // outlives Python
    return *all;
}

/// Any thread may ask, also one that has not joined.
const selion::world& expect_living(const selion::world& all) {
    if (living_worlds().contains(&all)) [[likely]]
        return all;
    PyErr_SetString(PyExc_RuntimeError, "The job of this world is over.");
    throw nb::python_error();
}

/// `with world.joined_thread():`
class joined_thread {
public:
    explicit joined_thread(const selion::world& all) : all_(all) {}
    void enter() {
        expect_may_join();
        scope_ = std::make_unique<selion::rank_scope>(all_);
    }
    void leave() { scope_.reset(); }

private:
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
        if (trouble == nullptr) return;
        PyErr_SetString(PyExc_RuntimeError, trouble);
        throw nb::python_error();
    }

    const selion::world& all_;
    std::unique_ptr<selion::rank_scope> scope_;
};

std::int64_t now(const selion::world& all) {
    expect_rank();
    const yield_to_simulated_ranks free;
    return all.now();
}

void charge(const selion::world&, std::uint64_t flops, std::uint64_t int_ops, std::uint64_t loads,
            std::uint64_t stores, std::uint64_t copied_bytes, double ns) {
    expect_rank();
    if (!(ns >= 0 && ns < 9e15)) {
        throw nb::value_error("ns is the time to spend; legal: 0 to 9e15 nanoseconds.");
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
    expect_caller(all);
    const nb::gil_scoped_release free;
    const std::vector<selion::rank_id> dead = all.dead_ranks();
    return {dead.begin(), dead.end()};
}

}  // namespace

living_world::living_world(const selion::world& all) : all_(all) { living_worlds().insert(&all); }
living_world::~living_world() { living_worlds().erase(&all_); }

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
            "joined_thread", [](const world& all) { return joined_thread(all); },
            nb::keep_alive<0, 1>())
        .def("__reduce__",
             [](nb::handle self) {
                 return nb::module_::import_("selion.registry").attr("reduced")(self);
             })
        .def("__repr__", [](const world& all) {
            if (!living_worlds().contains(&all)) {
                return std::string("<selion.World of a job that is over>");
            }
            return "<selion.World rank " + std::to_string(all.rank()) + " of " +
                   std::to_string(all.size()) + ">";
        });
}

}  // namespace bindings
