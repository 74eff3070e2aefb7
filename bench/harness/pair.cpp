// SPDX-License-Identifier: Apache-2.0
#include "harness/pair.hpp"

#include <sched.h>

#include <cstdio>

namespace bench {

int usable_processors() {
    cpu_set_t usable;
    return sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
}

bool is_pair(const selion::world& world, const char* program, int processors) {
    const selion::machine_description& machine = world.machine();
    if (machine.ranks == 2 && machine.carriers == 2 && machine.capabilities.shares_memory &&
        processors >= 2) {
        return true;
    }
    if (world.rank() != 0) return false;
    if (processors < 2) {
        std::fprintf(stderr, "%s needs two processors, and may use %d\n", program, processors);
        return false;
    }
    std::fprintf(stderr,
                 "%s runs on 2 ranks that share memory and have a thread each, not on %s; set "
                 "SELION_MACHINE to threads:2 or processes:2\n",
                 program, machine.spec.c_str());
    return false;
}

}  // namespace bench
