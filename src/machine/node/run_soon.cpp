// SPDX-License-Identifier: Apache-2.0
#include "machine/node/run_soon.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace selion::machine::node {
namespace {

/// As in linux/sched/types.h, which cannot be included beside sched.h.
struct scheduling {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime_ns;  ///< of a plain thread: how long it wants to run at a time
    std::uint64_t deadline_ns;
    std::uint64_t period_ns;
};
static_assert(sizeof(scheduling) == 48);  // SCHED_ATTR_SIZE_VER0

/// The least that the kernel grants. A thread that is woken goes first if the one that runs has a
/// longer slice.
constexpr std::uint64_t shortest_slice_ns = 100'000;

}  // namespace

void ask_to_run_soon() {
    scheduling wanted{};
    if (syscall(SYS_sched_getattr, 0, &wanted, sizeof wanted, 0) != 0) return;
    if (wanted.policy != SCHED_OTHER) return;
    wanted.size = sizeof wanted;
    wanted.runtime_ns = shortest_slice_ns;
    syscall(SYS_sched_setattr, 0, &wanted, 0);
}

}  // namespace selion::machine::node
