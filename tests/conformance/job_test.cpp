// SPDX-License-Identifier: Apache-2.0
/// What a rank knows about its job.
#include <cstdlib>
#include <set>
#include <string>

#include "conformance/memory_parts.hpp"

namespace {

SPMD_TEST(job, ranks_are_numbered_without_gaps) {
    spmd::symmetric_array<std::uint32_t> seen(world, world.size());
    test.that(world.rank() < world.size(), "a rank is below the size");
    selion::put(seen.at(0, world.rank()), world.rank() + 1);
    world.barrier();
    if (world.rank() == 0) {
        for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
            test.equal(seen.mine()[rank], rank + 1);
        }
    }
    const selion::team everybody = world;
    test.equal(std::uint32_t{everybody.rank()}, std::uint32_t{world.rank()});
    test.equal(std::uint32_t{everybody.world_rank(everybody.rank())}, std::uint32_t{world.rank()});
    test.equal(everybody.size(), world.size());
}

SPMD_TEST(job, runs_on_the_machine_that_was_asked_for) {
    const char* asked = std::getenv("SELION_MACHINE");
    const selion::machine_description& machine = world.machine();
    test.equal(machine.ranks, world.size());
    test.that(machine.spec.starts_with(machine.kind), "the spec begins with the kind");
    test.at_least(machine.ranks, machine.processes);
    test.at_least(machine.ranks, machine.carriers);
    test.at_least(machine.carriers, machine.processes);
    test.at_least(machine.capabilities.max_ranks, world.size());
    test.equal(machine.capabilities.real_time, machine.kind != "sim");
    if (asked == nullptr) return;
    const std::string spec = asked;
    test.that(spec.starts_with(machine.kind), "the kind is that of " + spec);
    if (spec.find('@') == std::string::npos) return;
    test.equal(machine.spec, spec);
}

SPMD_TEST(job, description_agrees_with_what_can_be_reached) {
    const selion::machine_description& machine = world.machine();
    spmd::symmetric_array<int> cell(world, 1);
    std::uint32_t reached = 0;
    for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
        reached += cell.at(rank).local() != nullptr;
    }
    if (machine.capabilities.shares_memory) {
        test.equal(reached, world.size());
    } else {
        test.that(reached < world.size() || world.size() == 1, "some memory is out of reach");
    }
    test.that(cell.mine() != nullptr, "a rank reaches its own memory");
}

SPMD_TEST(job, isolation_is_as_described) {
    // A plain variable: one for all ranks of a process.
    static std::uint32_t last_writer;
    const bool is_isolated = world.machine().capabilities.isolates_ranks;
    if (is_isolated) {
        last_writer = world.rank();
        world.barrier();
        test.equal(last_writer, std::uint32_t{world.rank()});
    } else {
        if (world.rank() == 0) last_writer = 77;
        world.barrier();
        const std::uint32_t each = world.size() / world.machine().processes;
        if (world.rank() < each) test.equal(last_writer, 77u);
    }
    world.barrier();
}

SPMD_TEST(job, binding_report_has_a_line_for_each_rank) {
    const std::string report = world.binding_report();
    test.equal(static_cast<std::uint32_t>(std::ranges::count(report, '\n')), world.size());
    for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
        test.that(report.find("rank " + std::to_string(rank) + ":") != std::string::npos,
                  "rank " + std::to_string(rank) + " is in the report");
    }
    std::set<std::string> lines;
    for (std::size_t start = 0; start < report.size();) {
        const std::size_t end = report.find('\n', start);
        lines.insert(report.substr(start, end - start));
        start = end + 1;
    }
    test.equal(lines.size(), std::size_t{world.size()});
}

SPMD_TEST(job, time_never_goes_back) {
    std::int64_t before = world.now();
    for (int i = 0; i < 1000; ++i) {
        const std::int64_t now = world.now();
        test.at_least(now, before);
        before = now;
    }
    // Nor from one rank to the next: each sends its time along.
    spmd::symmetric_array<std::int64_t> sent(world, 1);
    spmd::symmetric_array<selion::signal> arrived(world, 1);
    for (std::uint32_t round = 1; round <= test.rounds(400); ++round) {
        selion::put_signal(sent.at(test.neighbour()), world.now(), arrived.at(test.neighbour()),
                           selion::signal_set(round));
        selion::wait_until(arrived.own(), round);
        test.at_least(world.now(), *sent.mine());
        world.sync();
    }
}

SPMD_TEST(job, every_knob_is_told_once) {
    std::set<std::string> names;
    for (const selion::knob_info& knob : selion::knobs()) {
        test.that(knob.name.starts_with("SELION_"), knob.name + " begins with SELION_");
        test.that(!knob.help.empty(), knob.name + " has a line of help");
        test.that(names.insert(knob.name).second, knob.name + " stands once in the list");
    }
    test.that(names.contains("SELION_MACHINE"), "SELION_MACHINE is in the list");
}

SPMD_TEST(job, its_kind_of_machine_is_listed_as_available) {
    bool is_listed = false;
    for (const selion::machine_kind_info& kind : selion::machine_kinds()) {
        if (kind.name != world.machine().kind) continue;
        is_listed = true;
        test.that(kind.available, kind.name + " is available: it runs");
        test.that(kind.reason.empty(), "nothing prevents " + kind.name);
    }
    test.that(is_listed, world.machine().kind + " is among the kinds");
    test.at_least(selion::usable_cores(), 1u);
}

}  // namespace
