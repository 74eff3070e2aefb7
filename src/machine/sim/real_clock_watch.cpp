// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/real_clock_watch.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <time.h>

#include <atomic>

#include "base/log.hpp"
#include "machine/host.hpp"
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

/// Takes the place of the C library's function, which std::chrono calls, too.
extern "C" SELION_API int clock_gettime(clockid_t which, timespec* time) noexcept {
    using function = int (*)(clockid_t, timespec*);
    static const auto of_the_library =
        reinterpret_cast<function>(dlsym(RTLD_NEXT, "clock_gettime"));
    if (which == CLOCK_MONOTONIC || which == CLOCK_REALTIME) {
        selion::machine::sim::notice_clock();
    }
    return of_the_library(which, time);
}

#endif
