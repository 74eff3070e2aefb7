// SPDX-License-Identifier: Apache-2.0
#include "machine/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/units.hpp"

namespace selion::machine {
namespace {

constexpr std::string_view threads_forms =
    "threads, threads:N, threads:N@C (N fibers on C threads, 1 <= C <= N)";
constexpr std::string_view processes_forms =
    "processes, processes:N, processes:PxT (P processes of T threads)";

error malformed(const machine_spec& spec, std::string_view mistake, std::string_view forms) {
    return {status::bad_argument,
            fmt::format("machine \"{}\": {}; legal forms are {}", spec.text, mistake, forms)};
}

}  // namespace

std::optional<std::uint32_t> parse_count(std::string_view text) {
    const std::optional<std::uint64_t> number = base::parse_whole(text);
    if (!number || *number == 0 || *number > max_ranks) return std::nullopt;
    return static_cast<std::uint32_t>(*number);
}

std::string not_a_count(std::string_view text, std::string_view what) {
    return fmt::format("\"{}\" is not a number of {} (1 to {})", text, what, max_ranks);
}

result<machine_spec> split_spec(std::string_view text) {
    machine_spec spec;
    spec.text = text;
    const std::string_view head = text.substr(0, text.find(','));
    const auto colon = head.find(':');
    spec.kind = head.substr(0, colon);
    if (spec.kind.empty()) {
        return error(status::bad_argument,
                     fmt::format("machine \"{}\" has no kind before the colon", text));
    }
    if (colon != std::string_view::npos) {
        spec.body = head.substr(colon + 1);
        if (spec.body.empty()) {
            return error(status::bad_argument,
                         fmt::format("machine \"{}\": nothing follows the colon", text));
        }
    }
    std::string_view rest = text.substr(head.size());
    while (!rest.empty()) {
        rest.remove_prefix(1);
        const std::string_view option = rest.substr(0, rest.find(','));
        rest.remove_prefix(option.size());
        const auto equals = option.find('=');
        if (equals == std::string_view::npos || equals == 0 || equals + 1 == option.size()) {
            return error(status::bad_argument,
                         fmt::format("machine \"{}\": option \"{}\" is not of the form key=value",
                                     text, option));
        }
        const auto [place, is_new] =
            spec.options.emplace(option.substr(0, equals), option.substr(equals + 1));
        if (!is_new) {
            return error(
                status::bad_argument,
                fmt::format("machine \"{}\": option {} is given twice", text, place->first));
        }
    }
    return spec;
}

result<node_shape> threads_shape(const machine_spec& spec, std::uint32_t cores) {
    node_shape shape;
    if (spec.body.empty()) {
        shape.ranks_per_process = shape.carriers_per_process = cores;
        return shape;
    }
    const std::string_view body = spec.body;
    const auto at = body.find('@');
    const std::string_view ranks_text = body.substr(0, at);
    const std::optional<std::uint32_t> ranks = parse_count(ranks_text);
    if (!ranks) return malformed(spec, not_a_count(ranks_text, "ranks"), threads_forms);
    shape.ranks_per_process = *ranks;
    if (at == std::string_view::npos) {
        shape.carriers_per_process = std::min(*ranks, cores);
        shape.fibers_by_default = shape.has_fibers();
        return shape;
    }
    const std::string_view carriers_text = body.substr(at + 1);
    const std::optional<std::uint32_t> carriers = parse_count(carriers_text);
    if (!carriers) return malformed(spec, not_a_count(carriers_text, "threads"), threads_forms);
    if (*carriers > *ranks) {
        return malformed(spec, fmt::format("{} threads for {} ranks", *carriers, *ranks),
                         threads_forms);
    }
    shape.carriers_per_process = *carriers;
    shape.carriers_given = true;
    return shape;
}

result<node_shape> processes_shape(const machine_spec& spec, std::uint32_t cores) {
    node_shape shape;
    if (spec.body.empty()) {
        shape.processes = cores;
        return shape;
    }
    const std::string_view body = spec.body;
    const auto times = body.find('x');
    const std::string_view processes_text = body.substr(0, times);
    const std::optional<std::uint32_t> processes = parse_count(processes_text);
    if (!processes) {
        return malformed(spec, not_a_count(processes_text, "processes"), processes_forms);
    }
    shape.processes = *processes;
    if (times == std::string_view::npos) return shape;
    const std::string_view threads_text = body.substr(times + 1);
    const std::optional<std::uint32_t> threads = parse_count(threads_text);
    if (!threads) return malformed(spec, not_a_count(threads_text, "threads"), processes_forms);
    if (std::uint64_t{*processes} * *threads > max_ranks) {
        return malformed(spec, fmt::format("more than {} ranks", max_ranks), processes_forms);
    }
    shape.ranks_per_process = *threads;
    shape.carriers_per_process = std::min(*threads, std::max(1u, cores / *processes));
    shape.fibers_by_default = shape.has_fibers();
    return shape;
}

std::string spec_of(std::string_view kind, const node_shape& shape) {
    if (kind == "processes") {
        return shape.ranks_per_process == 1
                   ? fmt::format("processes:{}", shape.processes)
                   : fmt::format("processes:{}x{}", shape.processes, shape.ranks_per_process);
    }
    return shape.has_fibers() || shape.carriers_given
               ? fmt::format("{}:{}@{}", kind, shape.ranks_per_process, shape.carriers_per_process)
               : fmt::format("{}:{}", kind, shape.ranks_per_process);
}

}  // namespace selion::machine
