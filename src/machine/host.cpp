// SPDX-License-Identifier: Apache-2.0
#include "machine/host.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "base/units.hpp"

namespace selion::machine {

std::uint64_t memory_limit_bytes() {
    std::uint64_t limit = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
    for (const char* path :
         {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::ifstream file(path);
        std::string text;
        if (!(file >> text)) continue;
        if (const auto bytes = base::parse_whole(text)) limit = std::min(limit, *bytes);
    }
    return limit;
}

std::int64_t host_time_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

bool is_handled_by(int number, void (*handler)(int)) {
    struct sigaction now {};
    return sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
           now.sa_handler == handler;
}

}  // namespace selion::machine
