// SPDX-License-Identifier: Apache-2.0
// Reads the host's clock on every rank, as a program should not on a simulated machine.
//   test_real_clock chrono|gettimeofday|time|clock|timespec_get|raw|coarse
#include <sys/time.h>
#include <time.h>

#include <chrono>
#include <cstdint>
#include <string_view>

#include <selion/selion.hpp>

namespace {

std::int64_t time_by(std::string_view how) {
    timespec fine{};
    timeval coarse{};
    if (how == "gettimeofday") return gettimeofday(&coarse, nullptr) == 0 ? coarse.tv_sec : 0;
    if (how == "time") return time(nullptr);
    if (how == "clock") return clock() + 1;
    if (how == "timespec_get") return timespec_get(&fine, TIME_UTC) == 0 ? 0 : fine.tv_sec;
    if (how == "chrono") return std::chrono::steady_clock::now().time_since_epoch().count();
    const clockid_t which = how == "raw" ? CLOCK_MONOTONIC_RAW : CLOCK_MONOTONIC_COARSE;
    return clock_gettime(which, &fine) == 0 ? fine.tv_sec + 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    return selion::run(argc, argv, [&](selion::world& world) {
        const std::int64_t now = time_by(argc > 1 ? argv[1] : "chrono");
        world.barrier();
        return now == 0 ? 1 : 0;
    });
}
