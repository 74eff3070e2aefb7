// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/fabric_spec.hpp"

#include <fmt/format.h>

#include <thread>
#include <utility>

#include "base/knobs.hpp"
#include "base/units.hpp"
#include "machine/fabric/fabric.hpp"
#include "selion/machines.hpp"

namespace selion::machine::fabric {
namespace {

bool is_chosen(const machine_spec& spec, std::string_view key, std::string_view value) {
    const auto found = spec.options.find(key);
    return found != spec.options.end() && found->second == value;
}

/// Ranks that the launcher has bound have their cores to themselves, unless the host has not as
/// many: then they share those that all were given. Others count what they see.
/// @pre the shape has the processes of the host
node::patience patience_of(const node::job_setting& setting) {
    node::patience how = setting.how_long;
    const std::uint32_t all_cores = std::thread::hardware_concurrency();
    const bool is_bound =
        usable_cores() < all_cores && usable_cores() * setting.shape.processes <= all_cores;
    if (!base::knob_text(base::knob::spin) && is_bound) how = node::patience_with_cores;
    return how;
}

void describe(const machine_spec& spec, const launch_place& place, node::job_setting& setting) {
    setting.shape = {};
    setting.binding.clear();
    machine_description& words = setting.description;
    words.kind = spec.kind;
    const std::string_view option = setting.has_notifier ? ",progress=interrupt"
                                    : setting.is_direct  ? ""
                                                         : ",direct=off";
    words.spec = fmt::format("{}:{}{}", spec.kind, place.ranks, option);
    words.ranks = words.processes = words.carriers = place.ranks;
    words.capabilities = {
        .shares_memory = false,
        .isolates_ranks = true,
        .real_time = true,
        .moves_idle_ranks_only = true,
        .detects_death = true,
        .progress = setting.has_notifier ? progress_kind::interrupt : progress_kind::polling,
        .max_ranks = max_ranks};
}

}  // namespace

error malformed(const machine_spec& spec, std::string_view mistake) {
    return {status::bad_argument, fmt::format("machine \"{}\": {}; legal forms are fabric and "
                                              "fabric:N, N as the launcher has been told",
                                              spec.text, mistake)};
}

std::string mistake_in(const machine_spec& spec) {
    for (const auto& [key, value] : spec.options) {
        if (key == "direct" && (value == "on" || value == "off")) continue;
        if (key == "direct") return fmt::format("direct={} is neither on nor off", value);
        if (key != "progress") return fmt::format("there is no option \"{}\"", key);
        if (value != "polling" && value != "interrupt") {
            return fmt::format("progress={} is no way of progress", value);
        }
    }
    if (is_chosen(spec, "progress", "interrupt") && is_chosen(spec, "direct", "on")) {
        return "with progress=interrupt each rank maps its own memory only: leave direct=on out";
    }
    if (spec.body.empty()) return {};
    const auto ranks = base::parse_whole(spec.body);
    if (ranks && *ranks > 0 && *ranks <= max_ranks) return {};
    const bool is_by_process = spec.body.front() == 'x' && base::parse_whole(spec.body.substr(1));
    if (is_by_process) return "a process is one rank: launch a process for each";
    return fmt::format("\"{}\" is not a number of ranks (1 to {})", spec.body, max_ranks);
}

result<node::job_setting> setting_of(const machine_spec& spec, const launch_place& place) {
    if (!spec.body.empty() && base::parse_whole(spec.body) != place.ranks) {
        return malformed(spec, fmt::format("the launcher has started {}", place.ranks));
    }
    result<node::job_setting> made =
        node::make_setting(spec, node_shape{.processes = place.ranks_on_host});
    if (!made) return made.trouble();
    node::job_setting setting = std::move(made).value();
    setting.how_long = patience_of(setting);
    // The thread that serves sleeps on the network, and on no ring.
    if (setting.has_notifier) setting.is_direct = false;
    describe(spec, place, setting);
    return setting;
}

}  // namespace selion::machine::fabric

namespace selion::machine {

machine_kind_info describe_fabric() {
    machine_kind_info info{
        .name = "fabric",
        .forms = {"fabric", "fabric:N"},
        .summary =
            "ranks are processes on many hosts, one each, over libfabric; started by "
            "mpirun or another launcher with PMIx",
        .facts = {{"memory",
                   "shared by the ranks of a host; all else by messages over the network"},
                  {"direct=off", "each rank's own, also within a host"},
                  {"progress=interrupt",
                   "a thread of each process serves others meanwhile; as with direct=off"},
                  {"ranks", "as many as the launcher starts: mpirun -n 4 ./program"},
                  {"isolation", "private memory, globals and libraries of each process"},
                  {"death of a rank", "ends the job; the launcher names rank and host"}},
        .available = true,
        .reason = {}};
    return info;
}

}  // namespace selion::machine
