// SPDX-License-Identifier: Apache-2.0
// What `selion tune` and `selion explain` start. Each call prints one JSON object:
//   study_tune place
//   study_tune explain COLLECTIVE BYTES
//   study_tune measure COLLECTIVE BYTES [--seconds S] [--seed N] [--ways W,W,…] [--exhaustive]
//                                       [--any-order]
#include <algorithm>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "contest.hpp"
#include "harness/arguments.hpp"
#include "harness/rows.hpp"

namespace {

using nlohmann::ordered_json;
using words = std::span<char* const>;

ordered_json as_json(const selion::collective_explanation& found, const std::string& machine) {
    ordered_json candidates = ordered_json::array();
    for (const selion::timed_choice& one : found.candidates) {
        candidates.push_back({{"way", text_of(one.choice)}, {"ns", one.ns}});
    }
    return {{"collective", name_of(found.collective)},
            {"machine", machine},
            {"bytes", found.bytes},
            {"members", found.members},
            {"way", text_of(found.choice)},
            {"reason", name_of(found.reason)},
            {"why", found.why},
            {"is_measured", found.is_measured},
            {"known_bytes", found.known_bytes},
            {"known_members", found.known_members},
            {"candidates", candidates}};
}

ordered_json as_json(const std::vector<tune::outcome>& outcomes) {
    ordered_json rows = ordered_json::array();
    for (const tune::outcome& one : outcomes) {
        const study::spread spread = study::spread_of(one.ns);
        rows.push_back({{"way", text_of(one.way)},
                        {"ns", study::detail::rounded(tune::typical_ns(one.ns))},
                        {"median", study::detail::rounded(spread.median)},
                        {"p5", study::detail::rounded(spread.p5)},
                        {"p95", study::detail::rounded(spread.p95)},
                        {"n", spread.n},
                        {"calls", one.calls},
                        {"is_out", one.is_out}});
    }
    return rows;
}

void read_ways(tune::task& task, std::string_view text) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        task.ways.push_back(selion::choice_of(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

/// What both commands have in front: COLLECTIVE BYTES.
tune::task read_task(words given) {
    if (given.size() < 2) throw study::bad_argument("COLLECTIVE and BYTES are needed.");
    tune::task task;
    task.what = selion::collective_of(given[0]);
    task.bytes = study::detail::parse_integer<std::size_t>("BYTES", given[1], 0);
    for (std::size_t i = 2; i < given.size(); ++i) {
        const std::string_view option = given[i];
        if (option == "--exhaustive") {
            task.is_exhaustive = true;
        } else if (option == "--any-order") {
            task.any_order = true;
        } else if (i + 1 == given.size()) {
            throw study::bad_argument("'" + std::string(option) +
                                      "' is not an option, or needs a value.");
        } else if (option == "--seconds") {
            task.seconds = std::stod(given[++i]);
        } else if (option == "--seed") {
            task.seed = study::detail::parse_integer<std::uint64_t>("--seed", given[++i], 0);
        } else if (option == "--ways") {
            read_ways(task, given[++i]);
        } else {
            throw study::bad_argument("'" + std::string(option) + "' is not an option.");
        }
    }
    return task;
}

void print_measured(selion::world& world, const tune::task& task) {
    const std::vector<tune::outcome> outcomes = tune::measure(world, task);
    const auto usual = world.explain(task.what, task.bytes);
    if (world.rank() != 0) return;
    const ordered_json result = {
        {"collective", name_of(task.what)},         {"bytes", task.bytes},
        {"machine", selion::tuning_machine(world)}, {"members", world.size()},
        {"usual", text_of(usual.choice)},           {"rows", as_json(outcomes)}};
    std::printf("%s\n", result.dump().c_str());
}

/// Whether members can read each other's memory they find out together, by the first collectives
/// that go this way.
void find_out_about_memory(selion::world& world) {
    constexpr std::size_t bytes = 1024;
    std::vector<char> own(bytes);
    std::vector<char> all(bytes * world.size());
    const selion::collective_choice direct{selion::collective_way::direct, {}};
    for (const auto what :
         {selion::collective_kind::all_gather, selion::collective_kind::broadcast}) {
        world.choose(what, direct);
    }
    world.all_gather(own, all);
    world.broadcast(own, 0);
    for (const auto what :
         {selion::collective_kind::all_gather, selion::collective_kind::broadcast}) {
        world.choose(what, std::nullopt);
    }
}

int print_place() {
    const selion::tuning_place place = selion::usual_tuning_place();
    std::printf("%s\n", ordered_json{{"host", place.host}, {"path", place.path}}.dump().c_str());
    return 0;
}

int obey(int argc, char** argv) {
    const words given(argv, static_cast<std::size_t>(argc));
    const std::string_view command = argc > 1 ? argv[1] : "";
    if (command == "place") return print_place();
    if (command != "measure" && command != "explain") {
        throw study::bad_argument("The first argument is place, explain or measure.");
    }
    const tune::task task = read_task(given.subspan(2));
    return selion::run(argc, argv, [&](selion::world& world) {
        if (command == "measure") return print_measured(world, task);
        find_out_about_memory(world);
        const auto found = world.explain(task.what, task.bytes);
        if (world.rank() != 0) return;
        std::printf("%s\n", as_json(found, selion::tuning_machine(world)).dump().c_str());
    });
}

}  // namespace

int main(int argc, char** argv) try {
    return obey(argc, argv);
} catch (const study::bad_argument& problem) {
    std::fprintf(stderr, "study_tune: %s\n", problem.what());
    return 2;
} catch (const selion::error& problem) {
    std::fprintf(stderr, "study_tune: %s.\n", problem.what());
    return problem.code() == selion::status::bad_argument ? 2 : 1;
} catch (const std::exception& problem) {
    std::fprintf(stderr, "study_tune: %s\n", problem.what());
    return 1;
}
