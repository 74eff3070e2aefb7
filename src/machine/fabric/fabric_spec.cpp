// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/fabric_spec.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/knobs.hpp"
#include "selion/machines.hpp"

namespace selion::machine::fabric {
namespace {

bool is_chosen(const machine_spec& spec, std::string_view key, std::string_view value) {
    const auto found = spec.options.find(key);
    return found != spec.options.end() && found->second == value;
}

/// Processes that the launcher has bound have their cores to themselves, unless the host has not as
/// many: then they share those that all were given. Others count what they see.
/// @pre the shape has the processes of the host
node::patience patience_of(const node::job_setting& setting) {
    node::patience how = setting.how_long;
    const std::uint32_t all_cores = std::thread::hardware_concurrency();
    const bool is_bound = usable_cores() < all_cores &&
                          usable_cores() >= setting.shape.ranks_per_process &&
                          usable_cores() * setting.shape.processes <= all_cores;
    if (!base::knob_text(base::knob::spin) && is_bound) how = node::patience_with_cores;
    return how;
}

std::string spec_of(std::string_view kind, const wished_shape& shape) {
    if (shape.ranks_per_process == 1) return fmt::format("{}:{}", kind, shape.processes);
    return fmt::format("{}:{}x{}", kind, shape.processes, shape.ranks_per_process);
}

void describe(const machine_spec& spec, const wished_shape& shape, node::job_setting& setting) {
    setting.shape.processes = 1;  // until it is known with whom it shares memory
    setting.binding.clear();
    machine_description& words = setting.description;
    words.kind = spec.kind;
    const std::string_view option = setting.has_notifier ? ",progress=interrupt"
                                    : setting.is_direct  ? ""
                                                         : ",direct=off";
    words.spec = spec_of(spec.kind, shape).append(option);
    words.processes = shape.processes;
    words.ranks = words.carriers = shape.processes * shape.ranks_per_process;
    words.capabilities = {
        .shares_memory = false,
        .isolates_ranks = shape.ranks_per_process == 1,
        .real_time = true,
        .moves_idle_ranks_only = true,
        .detects_death = true,
        .progress = setting.has_notifier ? progress_kind::interrupt : progress_kind::polling,
        .max_ranks = max_ranks};
}

error malformed(const machine_spec& spec, std::string_view mistake) {
    return {status::bad_argument,
            fmt::format("machine \"{}\": {}; legal forms are fabric, fabric:N, fabric:xT and "
                        "fabric:PxT: N or P processes, as the launcher has been told, and T ranks "
                        "in each",
                        spec.text, mistake)};
}

/// Empty: none.
std::string mistake_in_options(const machine_spec& spec) {
    for (const auto& [key, value] : spec.options) {
        if (key == "direct" && base::is_switch_word(value)) continue;
        if (key == "direct") return fmt::format("direct={} is neither on nor off", value);
        if (key != "progress") return fmt::format("there is no option \"{}\"", key);
        if (value != "polling" && value != "interrupt") {
            return fmt::format("progress={} is no way of progress", value);
        }
    }
    const auto direct = spec.options.find("direct");
    const bool is_direct =
        direct != spec.options.end() && base::switch_value(direct->second).value_or(false);
    if (is_direct && is_chosen(spec, "progress", "interrupt")) {
        return "with progress=interrupt each rank maps its own memory only: leave direct=on out";
    }
    return {};
}

/// Who wants four ranks may mean threads.
std::string cure_of_number(const machine_spec& spec, const wished_shape& wanted,
                           std::uint32_t started) {
    if (spec.body.find('x') != std::string::npos || wanted.processes % started != 0) return {};
    return fmt::format(", and {}:x{} has {} ranks in them", spec.kind, wanted.processes / started,
                       wanted.processes);
}

}  // namespace

bool reports_deaths() {
    constexpr std::array<std::string_view, 2> words{"end", "report"};
    return base::knob_choice(base::knob::rank_death, words) == 1;
}

result<wished_shape> parse_spec(const machine_spec& spec) {
    if (const std::string mistake = mistake_in_options(spec); !mistake.empty()) {
        return malformed(spec, mistake);
    }
    wished_shape shape;
    const std::string_view body = spec.body;
    if (body.empty()) return shape;
    if (body.find('@') != std::string_view::npos) {
        return malformed(spec,
                         "ranks of a process are threads, none of them fibers: leave the @ out");
    }
    const auto times = body.find('x');
    const bool has_ranks = times != std::string_view::npos;
    const std::string_view processes_text = body.substr(0, times);
    if (!has_ranks || !processes_text.empty()) {
        const std::optional<std::uint32_t> processes = parse_count(processes_text);
        const std::string_view what = has_ranks ? "processes" : "ranks";
        if (!processes) return malformed(spec, not_a_count(processes_text, what));
        shape.processes = *processes;
    }
    if (!has_ranks) return shape;
    const std::string_view ranks_text = body.substr(times + 1);
    const std::optional<std::uint32_t> ranks = parse_count(ranks_text);
    if (!ranks) return malformed(spec, not_a_count(ranks_text, "ranks in each process"));
    shape.ranks_per_process = *ranks;
    return shape;
}

result<node::job_setting> setting_of(const machine_spec& spec, wished_shape shape,
                                     const launch_place& place) {
    if (shape.processes != 0 && shape.processes != place.processes) {
        return malformed(spec, fmt::format("the launcher has started {}{}", place.processes,
                                           cure_of_number(spec, shape, place.processes)));
    }
    shape.processes = place.processes;
    if (std::uint64_t{shape.processes} * shape.ranks_per_process > max_ranks) {
        return malformed(spec, fmt::format("more than {} ranks", max_ranks));
    }
    result<node::job_setting> made =
        node::make_setting(spec, node_shape{.processes = place.processes_on_host,
                                            .ranks_per_process = shape.ranks_per_process,
                                            .carriers_per_process = shape.ranks_per_process});
    if (!made) return made.trouble();
    node::job_setting setting = std::move(made).value();
    setting.how_long = patience_of(setting);
    // The thread that serves sleeps on the network, and on no ring.
    if (setting.has_notifier) setting.is_direct = false;
    describe(spec, shape, setting);
    return setting;
}

}  // namespace selion::machine::fabric
