// SPDX-License-Identifier: Apache-2.0
#include "machine/node/doorbell.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "base/knobs.hpp"
#include "machine/host/host.hpp"
#include "machine/machine.hpp"

namespace selion::machine::node {
namespace {

long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

bool register_heavy_fences() {
    if (!base::knob_is_on(base::knob::membarrier)) return false;
    return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

void host_access::change_count(std::uint64_t unit, std::int32_t by) const {
    // Ordered before the value by the heavy fence, as the mark is.
    std::atomic_ref(control_.sleepers)
        .fetch_add(unit * static_cast<std::uint64_t>(std::int64_t{by}), std::memory_order_relaxed);
}

void bell_access::set_sleeping(doorbell& bell, std::uint32_t value) const {
    // seq_cst: flag before count; pairs with the ringer's count before flag [bell.sleeping]
    std::atomic_ref(bell.sleeping).store(value, std::memory_order_seq_cst);
}

std::uint32_t bell_access::sleeps_on(const doorbell& bell) const {
    // seq_cst: see set_sleeping [bell.sleeping]
    return std::atomic_ref(const_cast<doorbell&>(bell).sleeping).load(std::memory_order_seq_cst);
}

std::uint32_t bell_access::bell_count(const doorbell& bell) const {
    // seq_cst: after the flag, and joins the ringer's writes [bell.count]
    return std::atomic_ref(const_cast<doorbell&>(bell).count).load(std::memory_order_seq_cst);
}

void bell_access::raise_count(doorbell& bell) const {
    // seq_cst: before looking at the flag; publishes the signal's value [bell.count]
    std::atomic_ref(bell.count).fetch_add(1, std::memory_order_seq_cst);
}

void bell_access::sleep_while_count_is(doorbell& bell, std::uint32_t count) const {
    timespec until{};
    const bool has_deadline = deadline_ns_ != no_deadline;
    if (has_deadline) {
        until.tv_sec = deadline_ns_ / 1'000'000'000;
        until.tv_nsec = deadline_ns_ % 1'000'000'000;
    }
    const int command = FUTEX_WAIT_BITSET | (is_shared_ ? 0 : FUTEX_PRIVATE_FLAG);
    syscall(SYS_futex, &bell.count, command, count, has_deadline ? &until : nullptr, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

void bell_access::wake_sleeper(doorbell& bell) const {
    const int command = FUTEX_WAKE | (is_shared_ ? 0 : FUTEX_PRIVATE_FLAG);
    syscall(SYS_futex, &bell.count, command, 1, nullptr, nullptr, 0);
}

std::uint32_t host_access::mark_of(const detail::shared_word& word) const {
    return std::atomic_ref(const_cast<detail::shared_word&>(word).sleeper)
        .load(std::memory_order_relaxed);
}

bool host_access::replace_mark(detail::shared_word& word, std::uint32_t& seen,
                               std::uint32_t wanted) const {
    return std::atomic_ref(word.sleeper)
        .compare_exchange_strong(seen, wanted, std::memory_order_relaxed);
}

std::uint32_t host_access::take_mark(detail::shared_word& word) const {
    return std::atomic_ref(word.sleeper).exchange(0, std::memory_order_relaxed);
}

void host_access::heavy_fence() const {
    // seq_cst: mark before value; with membarrier it also stands for every signaller's own fence
    // [word.sleep]
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (control_.fence_signals == 0) membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

std::int64_t steady_now_ns() { return host_time_ns(); }

}  // namespace selion::machine::node
