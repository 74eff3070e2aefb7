// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "machine/machine.hpp"
#include "machine/node/doorbell.hpp"
#include "machine/node/sleep_protocol.hpp"

/// How a host and its workers sleep: the protocol of src/machine/node/waiting.md with a full fence
/// on either side, and with the bell's own flag in the place of a mark.
namespace selion::machine::workers {

class pool_bell_access : public node::bell_access {
public:
    using bell_access::bell_access;
    static void change_sleepers(std::int32_t) {}  // nobody counts them
    static void heavy_fence() {
        // seq_cst: flag before the last look; pairs with the ringer's value before flag
        // [pool.sleep]
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
};

/// After something was written that the bell's owner may sleep for.
inline void ring_bell(node::doorbell& bell, bool is_shared) {
    // seq_cst: value before flag; pairs with the sleeper's flag before value [pool.sleep]. And a
    // worker's reply before its look at the notice of its next call; pairs with the host's notice
    // before its look at the reply [call.back]
    std::atomic_thread_fence(std::memory_order_seq_cst);
    pool_bell_access access(is_shared, no_deadline);
    sleep_protocol::ring_if_asleep(access, bell);
}

/// Sleeps until the bell rings or the deadline comes, unless `must_stay_awake`.
/// @param deadline_ns on the host's clock.
template <class Look>
void sleep_on_bell(node::doorbell& bell, bool is_shared, std::int64_t deadline_ns,
                   Look must_stay_awake) {
    pool_bell_access access(is_shared, deadline_ns);
    const std::uint32_t count = sleep_protocol::announce(access, bell);
    sleep_protocol::sleep_unless(access, bell, count, must_stay_awake);
}

}  // namespace selion::machine::workers
