// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/limits.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/units.hpp"

namespace selion::machine::fabric {
namespace {

/// Of an endpoint with its queues, timers and listeners, and of what the runtime opens.
constexpr std::uint64_t files_of_endpoint = 32;
/// Two ranks that speak first to each other at the same time open a connection each.
constexpr std::uint64_t files_of_peer = 2;

/// Files that are open now; the folder itself is one of them.
std::uint64_t open_files() {
    std::error_code ignored;
    const std::filesystem::directory_iterator all("/proc/self/fd", ignored);
    return static_cast<std::uint64_t>(std::distance(begin(all), end(all)));
}

std::string text_of(rlim_t bytes) {
    return bytes == RLIM_INFINITY ? "unlimited" : base::bytes_text(bytes);
}

}  // namespace

std::string raise_file_limit(std::uint32_t ranks, std::uint32_t own) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
    const rlim_t needed =
        open_files() + own * (files_of_endpoint + files_of_peer * std::uint64_t{ranks});
    if (limit.rlim_cur >= needed) return {};
    const rlimit raised{std::min(needed, limit.rlim_max), limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0 && raised.rlim_cur >= needed) return {};
    return fmt::format(
        "it may open {} files and needs {} for connections to {} ranks; raise the limit on its "
        "host: ulimit -n {}",
        limit.rlim_max, needed, ranks, needed);
}

std::string warning_of_binding(std::uint32_t ranks) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
    const auto own = static_cast<std::uint32_t>(CPU_COUNT(&allowed));
    const std::uint32_t all = std::thread::hardware_concurrency();
    if (own >= ranks || own >= all) return {};
    return fmt::format(
        "warning: the launcher has bound a process of {} ranks to {} of {} processors; let it have "
        "more with mpirun --map-by slot:PE={}, mpirun --bind-to none or srun --cpus-per-task={}",
        ranks, own, all, ranks, ranks);
}

std::string cure_of_limit(int error_number) {
    rlimit limit{};
    if (error_number == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        return fmt::format("raise the limit of {} open files: ulimit -n", limit.rlim_cur);
    }
    if (error_number == ENOMEM && getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
        return fmt::format("raise the limit of {} of locked memory: ulimit -l unlimited",
                           text_of(limit.rlim_cur));
    }
    return {};
}

}  // namespace selion::machine::fabric
