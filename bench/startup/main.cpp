// SPDX-License-Identifier: Apache-2.0
// Times whole runs of an empty program on several machines, in random order, beside a program that
// does nothing at all.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "harness/contest.hpp"

namespace {

constexpr const char* operation = "start and end";

struct candidate {
    std::string machine;  ///< empty: without Selion
    std::string program;
    std::vector<double> ns = {};
};

double time_run(const candidate& one) {
    setenv("SELION_MACHINE", one.machine.c_str(), 1);
    std::string name = one.program;
    char* arguments[] = {name.data(), nullptr};
    pid_t child = 0;
    int status = 0;
    const std::int64_t start = bench::now_ns();
    const int trouble = posix_spawn(&child, name.c_str(), nullptr, nullptr, arguments, environ);
    if (trouble != 0 || waitpid(child, &status, 0) != child || status != 0) {
        std::fprintf(stderr, "%s did not run on \"%s\"\n", name.c_str(), one.machine.c_str());
        std::exit(1);
    }
    return static_cast<double>(bench::now_ns() - start);
}

/// @param machine beside whose times they stand.
void print(const candidate& one, const std::string& machine) {
    std::printf(
        "{\"operation\": \"%s\", \"machine\": \"%s\", \"contestant\": \"%s\", "
        "\"is_selion\": %s, \"ns\": [",
        operation, machine.c_str(), one.machine.empty() ? "empty C++ program" : "selion",
        one.machine.empty() ? "false" : "true");
    for (std::size_t i = 0; i < one.ns.size(); ++i) {
        std::printf("%s%.0f", i == 0 ? "" : ", ", one.ns[i]);
    }
    std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
    const bench::settings how =
        bench::parse_settings(argc, argv, {.rounds = 41, .blocks = 5, .only = {}});
    if (std::string_view(operation).find(how.only) == std::string_view::npos) return 0;
    const std::string folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    std::vector<candidate> all{{"", folder + "/bench_nothing"}};
    for (const char* machine : {"threads:2", "processes:2", "threads:64", "processes:64"}) {
        all.push_back({machine, folder + "/bench_empty"});
    }
    std::mt19937_64 random(how.seed);
    for (std::uint32_t round = 0; round <= how.rounds; ++round) {
        std::vector<std::pair<candidate*, double>> turns;
        for (candidate& one : all) turns.insert(turns.end(), how.blocks, {&one, 0.0});
        std::shuffle(turns.begin(), turns.end(), random);
        for (auto& [one, ns] : turns) ns = time_run(*one);
        for (candidate& one : all) {
            double least_ns = -1;
            for (const auto& [who, ns] : turns) {
                if (who == &one && (least_ns < 0 || ns < least_ns)) least_ns = ns;
            }
            if (round > 0) one.ns.push_back(least_ns);  // round 0 warms up
        }
    }
    for (const candidate& one : all) {
        if (one.machine.empty()) continue;
        print(one, one.machine);
        print(all.front(), one.machine);
    }
}
