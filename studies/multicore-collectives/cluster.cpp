// SPDX-License-Identifier: Apache-2.0
#include "cluster.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>

#include "calls.hpp"
#include "measuring.hpp"

namespace multicore {
namespace {

using enum selion::collective_kind;
using selion::collective_choice;
using selion::collective_way;
using selion::schedule_algorithm;

/// Who combines what the threads of a process give.
enum class computation {
    leader,       ///< one of them, which then calls for all
    partitioned,  ///< each of them a part of the vector, with which it goes on
};

computation read_computation(const nlohmann::ordered_json& params) {
    const auto name = study::parameter<std::string>(params, "computation");
    if (name == "leader") return computation::leader;
    if (name == "partitioned") return computation::partitioned;
    throw study::bad_argument("'computation' is '" + name + "'; legal: leader, partitioned.");
}

/// Bit 0 last and so on, of numbers below `count`.
std::uint32_t reversed(std::uint32_t number, std::uint32_t count) {
    std::uint32_t turned = 0;
    for (std::uint32_t rest = count; rest > 1; rest /= 2) {
        turned = turned * 2 + number % 2;
        number /= 2;
    }
    return turned;
}

/// Recursive halving begins with the longest messages, to the most distant member. MPICH2 begins
/// with neighbours, of which some are on the same node: so do members that are numbered like this.
std::uint32_t place_among_peers(const selion::world& world, std::uint32_t threads,
                                schedule_algorithm between) {
    const std::uint32_t process = world.rank() / threads;
    const bool turns = between == schedule_algorithm::recursive_halving;
    return turns ? reversed(process, world.size() / threads) : process;
}

struct cluster_request {
    std::uint64_t doubles = 0;
    computation how = computation::leader;
    schedule_algorithm between = schedule_algorithm::recursive_doubling;  ///< processes
};

/// An all-reduce of all ranks of a cluster.
class cluster_call {
public:
    /// Collective. The memory lives as long as the job.
    cluster_call(const selion::world& world, const cluster_request& what)
        : process_(world.split(selion::locality::process)),
          peers_(world.split(process_.rank(),
                             place_among_peers(world, process_.size(), what.between))),
          how_(what.how),
          own_(shared_doubles(world, what.doubles)),
          part_(shared_doubles(world, what.doubles / process_.size())) {
        for (const auto each : {broadcast, reduce}) {
            process_.choose(each, choice_of(each, collective_way::lines, flat));
        }
        for (const auto each : {reduce_scatter, all_gather}) {
            process_.choose(each, collective_choice{collective_way::lines,
                                                    {.algorithm = schedule_algorithm::pairwise}});
        }
        peers_.choose(all_reduce,
                      collective_choice{collective_way::messages, {.algorithm = what.between}});
    }

    void run() const {
        if (how_ == computation::partitioned) {
            process_.reduce_scatter(own_, part_, selion::plus);
            peers_.all_reduce(part_, selion::plus);
            process_.all_gather(part_, own_);
            return;
        }
        if (process_.size() > 1) process_.reduce(own_, selion::plus, 0);
        if (process_.rank() == 0) peers_.all_reduce(own_, selion::plus);
        if (process_.size() > 1) process_.broadcast(own_, 0);
    }

    void expect_right_result(std::uint32_t ranks) const {
        std::ranges::fill(own_, 1.0);
        run();
        const bool is_right = std::ranges::all_of(own_, [&](double sum) { return sum == ranks; });
        if (!is_right) throw std::logic_error("an all-reduce of the cluster has a wrong result");
        std::ranges::fill(own_, 0.0);
    }

private:
    selion::team process_;
    selion::team peers_;  ///< the rank of each process with this rank's number in it
    computation how_;
    std::span<double> own_;
    std::span<double> part_;
};

/// With the better one of two algorithms between processes.
double time_cluster(const selion::world& world, std::uint64_t doubles, computation how) {
    double best_us = std::numeric_limits<double>::max();
    for (const auto between :
         {schedule_algorithm::recursive_doubling, schedule_algorithm::recursive_halving}) {
        const cluster_call call(world, {doubles, how, between});
        call.expect_right_result(world.size());
        const auto us = median(time_apart(world, [&](std::uint32_t) { call.run(); }));
        best_us = std::min(best_us, us);
    }
    return best_us;
}

/// The same machine in another mode; empty where it has none.
std::string in_mode(const std::string& spec, const std::string& mode) {
    const std::string key = ",mode=";
    const auto found = spec.find(key);
    if (found == std::string::npos) return {};
    const auto end = std::min(spec.find(',', found + 1), spec.size());
    return spec.substr(0, found) + key + mode + spec.substr(end);
}

}  // namespace

int run_cluster(int argc, char** argv, const study::arguments& given) {
    const subject what =
        read_subject({{"collective", "all_reduce"}, {"bytes", given.params.value("bytes", 0u)}});
    const computation how = read_computation(given.params);
    const std::uint64_t doubles = what.bytes / sizeof(double);
    constexpr std::uint64_t parts = 4;  // threads of a process, at most
    if (how == computation::partitioned && doubles % parts != 0) {
        throw study::bad_argument("'bytes' is " + std::to_string(what.bytes) +
                                  "; legal where threads share the work: multiples of 32.");
    }
    const char* const variable = std::getenv("SELION_MACHINE");
    const std::string spec = variable == nullptr ? "" : variable;
    const std::string spec_of_vn = in_mode(spec, "vn");
    if (spec_of_vn.empty()) {
        const std::string reason = "it compares modes of a cluster, and '" + spec + "' has none";
        std::printf("%s\n", nlohmann::json{{"skipped", reason}}.dump().c_str());
        return 0;
    }
    unsetenv("SELION_MACHINE");  // the variable would win
    double vn_us = 0;
    const int status = selion::run(argc, argv, {.machine = spec_of_vn}, [&](selion::world& world) {
        const double us = time_cluster(world, doubles, computation::leader);
        if (world.rank() == 0) vn_us = us;
    });
    if (status != 0) return status;
    return selion::run(argc, argv, {.machine = spec}, [&](selion::world& world) {
        const double us = spec == spec_of_vn ? vn_us : time_cluster(world, doubles, how);
        for (std::uint32_t repetition = 0; repetition < given.repetitions; ++repetition) {
            const study::row_frame frame{given.params, world.size(), repetition};
            print_value(world, frame, {"latency_us", "us"}, us);
            print_value(world, frame, {"throughput_vs_vn", "1"}, vn_us / us);
        }
    });
}

}  // namespace multicore
