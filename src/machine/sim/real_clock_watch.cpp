// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/real_clock_watch.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/time.h>
#include <time.h>

#include <atomic>

#include "base/log.hpp"
#include "machine/host/host.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::machine::sim {
namespace {

[[maybe_unused]] std::atomic<bool> watches = false;

[[maybe_unused]] void notice_clock() {
    const detail::rank_context& context = *detail::current_context;
    if (!context.spends_time || !watches.exchange(false, std::memory_order_relaxed)) return;
    base::say(fmt::format(
        "rank {} reads the host's clock on a simulated machine, whose time is virtual: use "
        "world.now(), or what is measured and printed differs from run to run",
        context.rank));
}

}  // namespace

void watch_real_clock() {
    if constexpr (SELION_CHECK_LEVEL >= 2 && !is_sanitized())
        watches.store(true, std::memory_order_relaxed);
}

}  // namespace selion::machine::sim

#if SELION_CHECK_LEVEL >= 2 && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// These take the place of the C library's functions. std::chrono calls the first.

extern "C" SELION_API int clock_gettime(clockid_t which, timespec* time) noexcept {
    static const auto of_the_library =
        reinterpret_cast<decltype(&clock_gettime)>(dlsym(RTLD_NEXT, "clock_gettime"));
    // The library itself asks for processor time, for `compute=measured`.
    const bool is_processors =
        which < 0 || which == CLOCK_THREAD_CPUTIME_ID || which == CLOCK_PROCESS_CPUTIME_ID;
    if (!is_processors) selion::machine::sim::notice_clock();
    return of_the_library(which, time);
}

extern "C" SELION_API int gettimeofday(timeval* now, void* zone) noexcept {
    static const auto of_the_library =
        reinterpret_cast<decltype(&gettimeofday)>(dlsym(RTLD_NEXT, "gettimeofday"));
    selion::machine::sim::notice_clock();
    return of_the_library(now, zone);
}

extern "C" SELION_API time_t time(time_t* now) noexcept {
    static const auto of_the_library = reinterpret_cast<decltype(&time)>(dlsym(RTLD_NEXT, "time"));
    selion::machine::sim::notice_clock();
    return of_the_library(now);
}

extern "C" SELION_API int timespec_get(timespec* now, int base) noexcept {
    static const auto of_the_library =
        reinterpret_cast<decltype(&timespec_get)>(dlsym(RTLD_NEXT, "timespec_get"));
    selion::machine::sim::notice_clock();
    return of_the_library(now, base);
}

extern "C" SELION_API clock_t clock() noexcept {
    static const auto of_the_library =
        reinterpret_cast<decltype(&clock)>(dlsym(RTLD_NEXT, "clock"));
    selion::machine::sim::notice_clock();
    return of_the_library();
}

#endif
