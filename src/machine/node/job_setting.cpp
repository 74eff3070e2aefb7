// SPDX-License-Identifier: Apache-2.0
#include "machine/node/job_setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/knobs.hpp"
#include "machine/host/host.hpp"
#include "machine/node/binding.hpp"
#include "machine/process/hang_setting.hpp"

namespace selion::machine::node {
namespace {

/// Sanitizers make frames several times larger.
constexpr std::uint64_t stack_factor = is_sanitized() ? 4 : 1;

patience choose_patience(const node_shape& shape) {
    const bool has_cores = shape.carriers() <= usable_cores();
    patience how = has_cores ? patience_with_cores : patience_without_cores;
    if (base::knob_text(base::knob::spin)) {
        constexpr std::uint64_t most_us = 9'000'000'000'000'000;  // some 285 years
        how.spin_ns =
            static_cast<std::int64_t>(std::min(base::knob_whole(base::knob::spin), most_us) * 1000);
    }
    return how;
}

/// @return whether it is the first of the two legal values.
bool choose(const machine_spec& spec, std::string_view key, std::string_view first,
            std::string_view second) {
    const auto found = spec.options.find(key);
    if (found->second == first) return true;
    if (found->second == second) return false;
    throw error(status::bad_argument, fmt::format("machine \"{}\": {}={} is neither {} nor {}",
                                                  spec.text, key, found->second, first, second));
}

void read_options(const machine_spec& spec, job_setting& setting) {
    for (const auto& [key, value] : spec.options) {
        if (key == "direct") {
            const auto is_on = base::switch_value(value);
            setting.is_direct = is_on ? *is_on : choose(spec, key, "on", "off");
        } else if (key == "progress") {
            setting.has_notifier = choose(spec, key, "interrupt", "polling");
        } else {
            throw error(status::bad_argument,
                        fmt::format("machine \"{}\": there is no option \"{}\"; {} knows "
                                    "direct=on and direct=off, progress=polling and "
                                    "progress=interrupt",
                                    spec.text, key, spec.kind));
        }
    }
}

std::string options_text(const job_setting& setting) {
    return std::string(setting.is_direct ? "" : ",direct=off") +
           (setting.has_notifier ? ",progress=interrupt" : "");
}

void read_knobs(job_setting& setting) {
    using base::knob;
    if (base::knob_text(knob::heap)) setting.heap_bytes = base::knob_bytes(knob::heap);
    setting.stack_bytes = base::knob_bytes(knob::stack) * stack_factor;
    setting.message_bytes = base::knob_bytes(knob::message_memory);
    setting.joined_threads = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(base::knob_whole(knob::joined_threads), 4096));
    // Builds that check everything do so unless they are told not to: then collectives go the way
    // that they go in programs.
    setting.compares_calls = base::knob_text(knob::check_calls)
                                 ? base::knob_is_on(knob::check_calls)
                                 : SELION_CHECK_LEVEL >= 2;
    const hang_setting hangs = take_hang_setting();
    setting.hang_timeout_ns = hangs.timeout_ns;
    setting.aborts_on_hang = hangs.ends_job;
}

/// Whether there is room for all in what they share.
void expect_room(const machine_spec& spec, const job_setting& setting) {
    if (!setting.is_direct || setting.shape.ranks() <= max_mapped_ranks) return;
    throw error(status::bad_argument,
                fmt::format("machine \"{}\": {} ranks; at most {} share memory, more take the "
                            "option direct=off",
                            spec.text, setting.shape.ranks(), max_mapped_ranks));
}

}  // namespace

mapping_plan job_setting::plan(bool is_shared, bool fence_signals) const {
    return {.shape = shape,
            .joined_threads = joined_threads,
            .heap_bytes = heap_bytes,
            .message_bytes = message_bytes,
            .is_shared = is_shared,
            // Who leaves a wait would need a heavy fence each time to hand its mail over.
            .fence_signals = fence_signals || has_notifier,
            .has_notifier = has_notifier,
            .processors = usable_cores(),
            .have_cores = how_long.spin_ns > 0};
}

result<job_setting> make_setting(const machine_spec& spec, const node_shape& shape) try {
    job_setting setting;
    setting.shape = shape;
    read_options(spec, setting);
    read_knobs(setting);
    expect_room(spec, setting);
    setting.how_long = choose_patience(shape);
    setting.binding = choose_binding(shape.carriers());
    setting.description.spec = spec_of(spec.kind, shape) + options_text(setting);
    setting.description.kind = spec.kind;
    setting.description.ranks = shape.ranks();
    setting.description.processes = shape.processes;
    setting.description.carriers = shape.carriers();
    setting.description.capabilities = {
        .shares_memory = setting.is_direct,
        .isolates_ranks = shape.ranks_per_process == 1 && spec.kind == "processes",
        .real_time = true,
        .detects_death = true,
        .progress = setting.has_notifier ? progress_kind::interrupt : progress_kind::polling,
        .max_ranks = setting.is_direct ? max_mapped_ranks : max_ranks};
    return setting;
} catch (const error& trouble) {
    return trouble;
}

}  // namespace selion::machine::node
