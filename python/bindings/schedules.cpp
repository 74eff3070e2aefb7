// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <selion/schedule.hpp>

#include "module.hpp"

/// Schedules cross the border as tuples; `selion.schedules` gives their parts names.
namespace bindings {

namespace {

using block_list = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  ///< first and count
using message_parts = std::tuple<std::uint32_t, block_list, std::string>;
using step_parts = std::pair<std::vector<message_parts>, std::vector<message_parts>>;
using played_parts =
    std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, block_list, std::string>;

/// From an object with the request's fields.
selion::schedule_request request_of(nb::handle request) {
    const auto number = [&](const char* field) {
        return nb::cast<std::uint32_t>(request.attr(field));
    };
    const auto collective =
        selion::collective_of(nb::cast<std::string>(request.attr("collective")));
    return {collective,
            selion::algorithm_of(nb::cast<std::string>(request.attr("algorithm")), collective),
            number("ranks"),
            number("root"),
            number("radix"),
            number("group"),
            number("segments"),
            number("seed")};
}

block_list parts_of(const std::vector<selion::block_range>& blocks) {
    block_list parts;
    for (const selion::block_range& range : blocks) parts.emplace_back(range.first, range.count);
    return parts;
}

std::string name_of(selion::block_action action) {
    switch (action) {
        case selion::block_action::store: return "store";
        case selion::block_action::combine_after: return "combine_after";
        case selion::block_action::combine_before: break;
    }
    return "combine_before";
}

std::vector<message_parts> parts_of(const std::vector<selion::schedule_message>& messages) {
    std::vector<message_parts> parts;
    for (const selion::schedule_message& message : messages) {
        parts.emplace_back(message.peer, parts_of(message.blocks), name_of(message.action));
    }
    return parts;
}

std::vector<std::string_view> collective_names() {
    std::vector<std::string_view> names;
    const auto last = static_cast<int>(selion::collective_kind::exchange);
    for (int kind = 0; kind <= last; ++kind) {
        names.push_back(selion::name_of(static_cast<selion::collective_kind>(kind)));
    }
    return names;
}

std::vector<std::string_view> algorithm_names(std::string_view collective) {
    std::vector<std::string_view> names;
    for (const auto algorithm : selion::algorithms_for(selion::collective_of(collective))) {
        names.push_back(selion::name_of(algorithm));
    }
    return names;
}

std::pair<std::uint64_t, std::vector<step_parts>> make(nb::handle request, std::uint32_t rank) {
    const auto own = selion::make_schedule(request_of(request), rank);
    std::vector<step_parts> steps;
    for (const selion::schedule_step& step : own.steps) {
        steps.emplace_back(parts_of(step.sends), parts_of(step.receives));
    }
    return {own.blocks, std::move(steps)};
}

bool sends_more_than(nb::handle request, std::uint64_t most) {
    const selion::schedule_request wanted = request_of(request);
    const nb::gil_scoped_release free;
    std::uint64_t sent = 0;
    for (std::uint32_t rank = 0; rank < wanted.ranks && sent <= most; ++rank) {
        for (const selion::schedule_step& step : selion::make_schedule(wanted, rank).steps) {
            sent += step.sends.size();
        }
    }
    return sent > most;
}

selion::played_schedule play_unlocked(const selion::schedule_request& request) {
    const nb::gil_scoped_release free;
    return selion::play_schedule(request);
}

std::tuple<std::uint64_t, std::uint32_t, bool, std::vector<played_parts>> play(nb::handle request) {
    const selion::played_schedule played = play_unlocked(request_of(request));
    std::vector<played_parts> messages;
    for (const selion::played_message& each : played.messages) {
        messages.emplace_back(each.round, each.from, each.to, parts_of(each.blocks),
                              name_of(each.action));
    }
    return {played.blocks, played.rounds, played.keeps_order, std::move(messages)};
}

}  // namespace

void add_schedules(nb::module_& module) {
    module.def("collective_names", &collective_names, "Collectives that have schedules.");
    module.def("algorithm_names", &algorithm_names, nb::arg("collective"),
               "The algorithms that exist for a collective.");
    module.def(
        "has_root",
        [](std::string_view collective) {
            return selion::has_root(selion::collective_of(collective));
        },
        nb::arg("collective"), "Whether one rank of a collective is its root.");
    module.def(
        "uses_radix",
        [](std::string_view algorithm) {
            return selion::uses_radix(selion::algorithm_of(algorithm));
        },
        nb::arg("algorithm"), "Whether the radix of a request makes a difference.");
    module.def(
        "uses_group",
        [](std::string_view algorithm) {
            return selion::uses_group(selion::algorithm_of(algorithm));
        },
        nb::arg("algorithm"), "Whether the group of a request makes a difference.");
    module.def(
        "uses_seed",
        [](std::string_view algorithm) {
            return selion::uses_seed(selion::algorithm_of(algorithm));
        },
        nb::arg("algorithm"), "Whether the seed of a request makes a difference.");
    module.def(
        "uses_segments",
        [](std::string_view collective, std::string_view algorithm) {
            const auto what = selion::collective_of(collective);
            return selion::uses_segments(what, selion::algorithm_of(algorithm, what));
        },
        nb::arg("collective"), nb::arg("algorithm"),
        "Whether the segments of a request make a difference.");
    module.def("make_schedule", &make, nb::arg("request"), nb::arg("rank"),
               "What one rank does: how many blocks there are, and its steps.");
    module.def("sends_more_than", &sends_more_than, nb::arg("request"), nb::arg("most"),
               "Whether all ranks together send more messages.");
    module.def("play_schedule", &play, nb::arg("request"),
               "A symbolic run: blocks, rounds, whether the order of ranks is kept, messages.");
}

}  // namespace bindings
