// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/process_limit.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.hpp"
#include "machine/host/control_group.hpp"
#include "machine/host/host.hpp"

namespace selion::machine {
namespace {

struct limit {
    std::uint64_t tasks;
    std::string name;
};

/// The lowest of all limits; every thread counts as a task.
limit lowest_limit() {
    limit lowest{UINT64_MAX, {}};
    const auto consider = [&](std::optional<std::uint64_t> tasks, std::string name) {
        if (tasks && *tasks < lowest.tasks) lowest = {*tasks, std::move(name)};
    };
    consider(base::whole_in_file("/proc/sys/kernel/pid_max"), "kernel.pid_max");
    consider(base::whole_in_file("/proc/sys/kernel/threads-max"), "kernel.threads-max");
    consider(control_groups().lowest("pids", "pids.max", "pids.max"),
             "pids.max of a control group");
    rlimit of_user{};
    const bool is_bound = geteuid() != 0 && getrlimit(RLIMIT_NPROC, &of_user) == 0;
    if (is_bound && of_user.rlim_cur != RLIM_INFINITY) consider(of_user.rlim_cur, "`ulimit -u`");
    return lowest;
}

/// What the processes take that share nothing, about: measured with 100 to 1000 of them.
std::uint64_t private_bytes(const node_shape& shape) {
    constexpr std::uint64_t each = 400 * 1024;  // with page tables
    constexpr std::uint64_t each_for_a_rank = 280;
    return shape.processes * (each + each_for_a_rank * shape.ranks());
}

}  // namespace

std::string too_many_processes(const node_shape& shape) {
    constexpr std::string_view cure = "ask for fewer, or for fibers (threads:N)";
    const std::string of_each = shape.carriers_per_process == 1
                                    ? ""
                                    : fmt::format(" of {} threads", shape.carriers_per_process);
    const limit lowest = lowest_limit();
    if (shape.carriers() >= lowest.tasks) {
        return fmt::format("{} processes{} are more than this system runs at once ({} by {}); {}",
                           shape.processes, of_each, lowest.tasks, lowest.name, cure);
    }
    const std::uint64_t wanted = private_bytes(shape);
    if (wanted < memory_limit_bytes()) return {};
    return fmt::format(
        "{} processes{} would take {} of memory before they begin, of which there "
        "is {}; {}",
        shape.processes, of_each, base::bytes_text(wanted), base::bytes_text(memory_limit_bytes()),
        cure);
}

}  // namespace selion::machine
