// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/node/control_block.hpp"
#include "selion/detail/shared_word.hpp"

namespace selion::machine::node {

/// Asks the kernel for process-wide barriers (membarrier). @return whether sleepers may rely on
/// them, so that signalling stores need no fence. Call once per process.
bool register_heavy_fences();

/// The atomics of `sleep_protocol` on real bells.
class bell_access {
public:
    /// @param is_shared bells are used by several processes.
    /// @param deadline_ns on the steady clock; sleeping ends then at the latest.
    bell_access(bool is_shared, std::int64_t deadline_ns)
        : is_shared_(is_shared), deadline_ns_(deadline_ns) {}

    void set_sleeping(doorbell& bell, std::uint32_t value) const;
    std::uint32_t sleeps_on(const doorbell& bell) const;
    bool is_sleeping(const doorbell& bell) const { return sleeps_on(bell) != 0; }
    std::uint32_t bell_count(const doorbell& bell) const;
    void raise_count(doorbell& bell) const;
    void sleep_while_count_is(doorbell& bell, std::uint32_t count) const;
    void wake_sleeper(doorbell& bell) const;

private:
    bool is_shared_;
    std::int64_t deadline_ns_;
};

/// The same with the words of a job.
class host_access : public bell_access {
public:
    /// @param control of the job; its count of sleepers is kept up to date.
    /// @param is_shared,deadline_ns as above.
    host_access(control_block& control, bool is_shared, std::int64_t deadline_ns)
        : bell_access(is_shared, deadline_ns), control_(control) {}

    void change_sleepers(std::int32_t by) const { change_count(1, by); }
    std::uint32_t mark_of(const detail::shared_word& word) const;
    bool replace_mark(detail::shared_word& word, std::uint32_t& seen, std::uint32_t wanted) const;
    std::uint32_t take_mark(detail::shared_word& word) const;
    void heavy_fence() const;

protected:
    /// @param unit what one thread counts. @param by of them.
    void change_count(std::uint64_t unit, std::int32_t by) const;

private:
    control_block& control_;
};

/// Of a thread that waits for mail alone: signals that are none need not look for it.
class listener_access : public host_access {
public:
    using host_access::host_access;
    void change_sleepers(std::int32_t by) const { change_count(one_listener, by); }
};

/// Nanoseconds of the steady clock.
std::int64_t steady_now_ns();

}  // namespace selion::machine::node
