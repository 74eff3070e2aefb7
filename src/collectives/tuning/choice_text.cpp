// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest_name.hpp"
#include "base/units.hpp"
#include "collectives/collective_plan.hpp"
#include "selion/collective_choice.hpp"
#include "selion/collective_explanation.hpp"
#include "selion/error.hpp"
#include "selion/tuning.hpp"

namespace selion {
namespace {

constexpr std::array<std::string_view, 6> way_names{"board", "slots",    "direct",
                                                    "lines", "messages", "nodes"};

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw error(status::bad_argument, fmt::format("'{}': {}", text, why));
}

collective_way way_of(std::string_view text, std::string_view name) {
    const auto found = std::ranges::find(way_names, name);
    if (found != way_names.end()) return static_cast<collective_way>(found - way_names.begin());
    refuse(text, fmt::format("there is no way '{}'{}; there are {}", name,
                             base::did_you_mean(name, way_names, "'"), fmt::join(way_names, ", ")));
}

std::vector<std::string_view> parts_of(std::string_view text) {
    std::vector<std::string_view> parts;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(':', start), text.size());
        parts.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

std::uint32_t number_of(std::string_view text, std::string_view part, std::string_view what,
                        std::uint32_t least) {
    const auto number = base::parse_whole(part);
    if (number && *number >= least && *number <= 1'000'000) {
        return static_cast<std::uint32_t>(*number);
    }
    refuse(text,
           fmt::format("the {} '{}' is not a whole number from {} to 1000000", what, part, least));
}

}  // namespace

std::string_view name_of(collective_way way) { return way_names[static_cast<std::size_t>(way)]; }

std::string text_of(const collective_choice& choice) {
    std::string text(name_of(choice.way));
    if (choice.way == collective_way::slots && choice.part_bytes != 0) {
        text += fmt::format(":{}", choice.part_bytes);
    }
    if (!collectives::follows_schedule(choice.way)) return text;
    const schedule_request& schedule = choice.schedule;
    text += fmt::format(":{}", name_of(schedule.algorithm));
    if (uses_radix(schedule.algorithm)) text += fmt::format(":{}", schedule.radix);
    if (uses_group(schedule.algorithm)) text += fmt::format(":{}", schedule.group);
    if (uses_seed(schedule.algorithm)) text += fmt::format(":{}", schedule.seed);
    if (schedule.segments != 1) text += fmt::format("/{}", schedule.segments);
    return text;
}

collective_choice choice_of(std::string_view text) {
    const std::size_t slash = text.find('/');
    const std::vector<std::string_view> parts = parts_of(text.substr(0, slash));
    collective_choice choice{way_of(text, parts[0]), {}};
    const bool has_schedule = collectives::follows_schedule(choice.way);
    if (has_schedule && parts.size() == 1) {
        refuse(text, fmt::format("{} needs an algorithm, as in {}:k_nomial:2", parts[0], parts[0]));
    }
    std::size_t next = 1;
    const auto read = [&](bool is_used, std::string_view what, std::uint32_t least,
                          std::uint32_t& number) {
        if (!is_used || next == parts.size()) return;
        number = number_of(text, parts[next++], what, least);
    };
    read(choice.way == collective_way::slots, "part's bytes", 64, choice.part_bytes);
    if (has_schedule) {
        schedule_request& schedule = choice.schedule;
        schedule.algorithm = algorithm_of(parts[next++]);
        read(uses_radix(schedule.algorithm), "radix", 2, schedule.radix);
        read(uses_group(schedule.algorithm), "group", 1, schedule.group);
        read(uses_seed(schedule.algorithm), "seed", 0, schedule.seed);
    }
    if (next != parts.size()) {
        refuse(text, fmt::format("'{}' is one part too many", parts[next]));
    }
    if (slash != std::string_view::npos) {
        const std::string_view segments = text.substr(slash + 1);
        if (!has_schedule) refuse(text, fmt::format("{} goes in no segments", parts[0]));
        choice.schedule.segments = number_of(text, segments, "number of segments", 1);
    }
    return choice;
}

namespace {

/// Whether pairs, pairs of pairs and so on, with the first members two by two where there are more
/// than a power of two, combine what the promised tree combines.
bool are_pairs_in_order(std::uint32_t members) {
    return std::has_single_bit(members + (members & -members));
}

bool is_binomial(const schedule_request& schedule) {
    return schedule.algorithm == schedule_algorithm::k_nomial && schedule.radix == 2;
}

}  // namespace

bool keeps_association(collective_kind what, const collective_choice& choice,
                       std::uint32_t members) {
    if (!collectives::follows_schedule(choice.way)) return true;
    const schedule_request& schedule = choice.schedule;
    switch (what) {
        case collective_kind::all_reduce:
            return is_binomial(schedule) ||
                   ((schedule.algorithm == schedule_algorithm::recursive_doubling ||
                     schedule.algorithm == schedule_algorithm::vector_halving) &&
                    are_pairs_in_order(members));
        case collective_kind::reduce:
        case collective_kind::reduce_scatter: return is_binomial(schedule);
        case collective_kind::scan:
        case collective_kind::exscan: return schedule.algorithm == schedule_algorithm::binary;
        default: return true;
    }
}

std::string_view tuning_machine(const machine_description& machine) {
    if (machine.kind == "fabric") return "fabric";
    if (machine.processes > 1) return machine.processes == machine.ranks ? "processes" : "hybrid";
    if (machine.carriers < machine.ranks) return "fibers";
    return machine.kind == "processes" ? "processes" : "threads";
}

std::string_view name_of(choice_reason reason) {
    constexpr std::array<std::string_view, 4> names{"program", "tuned", "model", "rule"};
    return names[static_cast<std::size_t>(reason)];
}

}  // namespace selion
