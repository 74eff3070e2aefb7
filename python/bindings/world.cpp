// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <selion/charge.hpp>
#include <selion/rank_scope.hpp>
#include <selion/world.hpp>

#include "caller.hpp"
#include "module.hpp"

namespace bindings {

namespace {

/// `with world.joined_thread():`
class joined_thread {
public:
    explicit joined_thread(const selion::world& all) : all_(all) {}
    void enter() { scope_ = std::make_unique<selion::rank_scope>(all_); }
    void leave() { scope_.reset(); }

private:
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

nb::class_<selion::world, selion::team> add_world(nb::module_& module) {
    using selion::world;

    nb::class_<joined_thread>(module, "JoinedThread",
                              "Lets the calling thread work for its rank within a with block.")
        .def("__enter__", &joined_thread::enter)
        .def("__exit__", [](joined_thread& self, const nb::args&) { self.leave(); });

    return nb::class_<world, selion::team>(
               module, "World", "The team of all ranks, seen from one of them.", nb::dynamic_attr())
        .def_prop_ro(
            "machine", [](const world& all) { return all.machine().spec; },
            "Complete spec of the machine that the job runs on.")
        .def("now", &now, "Steady time of the machine in nanoseconds.")
        .def("charge", &charge, nb::kw_only(), nb::arg("flops") = 0, nb::arg("int_ops") = 0,
             nb::arg("loads") = 0, nb::arg("stores") = 0, nb::arg("copied_bytes") = 0,
             nb::arg("ns") = 0.0,
             "Spends the time that a simulated machine needs for this work; none on a real one.")
        .def(
            "allocate",
            [](nb::handle all, nb::handle shape, nb::handle dtype) {
                return nb::module_::import_("selion.arrays").attr("allocate")(all, shape, dtype);
            },
            nb::arg("shape"), nb::arg("dtype") = "float64",
            "A zeroed global array; every rank calls this with the same shape and dtype.")
        .def(
            "spread",
            [](nb::handle all, nb::handle shape, nb::handle dtype, nb::handle layout) {
                return nb::module_::import_("selion.spread")
                    .attr("spread")(all, shape, dtype, layout);
            },
            nb::arg("shape"), nb::arg("dtype") = "float64", nb::arg("layout").none() = nb::none(),
            "A zeroed array that lies with all ranks; every rank calls this alike.")
        .def(
            "signal",
            [](nb::handle all, nb::handle count) {
                return nb::module_::import_("selion.arrays").attr("signal")(all, count);
            },
            nb::arg("count") = 1, "Signals; every rank calls this with the same count.")
        .def("dead_ranks", &dead_ranks,
             "Ranks that have died while the job goes on; from now on they end no wait for a "
             "signal or for transfers any more.")
        .def("survivors", &make_survivors,
             "A team of all ranks that live; every one of them calls this.")
        .def(
            "joined_thread", [](const world& all) { return joined_thread(all); },
            nb::keep_alive<0, 1>(),
            "Context in which a thread that the rank started may use selion.")
        .def("__reduce__",
             [](nb::handle self) {
                 return nb::module_::import_("selion.registry").attr("reduced")(self);
             })
        .def("__repr__", [](const world& all) {
            return "<selion.World rank " + std::to_string(all.rank()) + " of " +
                   std::to_string(all.size()) + ">";
        });
}

}  // namespace bindings
