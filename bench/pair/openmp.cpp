// SPDX-License-Identifier: Apache-2.0
#include "pair/contests.hpp"

#ifdef _OPENMP
#include <omp.h>
#include <sched.h>

#include <algorithm>
#endif

namespace bench {

#ifdef _OPENMP
namespace {

constexpr std::uint64_t warm_up = 200;

void stand_on(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/// `count` barriers of two threads; the caller's thread is one of them.
std::int64_t time_team(std::uint64_t count, int second_processor) {
    std::int64_t longest_ns = 0;
#pragma omp parallel num_threads(2) reduction(max : longest_ns)
    {
        if (omp_get_thread_num() == 1) stand_on(second_processor);
        for (std::uint64_t i = 0; i < warm_up; ++i) {
#pragma omp barrier
        }
        const std::int64_t start = now_ns();
        for (std::uint64_t i = 0; i < count; ++i) {
#pragma omp barrier
        }
        longest_ns = now_ns() - start;
    }
    // Idle threads of libgomp would spin on a core that the next contestant needs.
    omp_pause_resource_all(omp_pause_hard);
    return longest_ns;
}

}  // namespace

loop openmp_barrier(const selion::world& world, one_process& shared) {
    const int processor = world.all_reduce(world.rank() == 1 ? sched_getcpu() : 0, selion::maximum);
    return [&shared, processor, leads = world.rank() == 0](std::uint64_t count) -> std::int64_t {
        if (!leads) {
            shared.is_over.acquire();  // off the core that the second thread takes
            return 0;
        }
        const std::int64_t ns = time_team(count, processor);
        shared.is_over.release();
        return ns;
    };
}
#else
loop openmp_barrier(const selion::world&, one_process&) { return {}; }
#endif

}  // namespace bench
