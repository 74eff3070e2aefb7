// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace selion::machine::node {

/// One processor (hardware thread) of each core that this process may use, in the order of the
/// cores, as the program found them when it first asked. The affinity mask is respected; the
/// cgroup's quota of time is not a matter of cores.
const std::vector<int>& processors_by_core();

/// Processors to bind a job's threads to, in their order; empty when they shall stay free. Follows
/// SELION_BIND: `auto` binds a job that fills exactly the cores that it may use, so that two small
/// jobs never share a core while others idle.
std::vector<int> choose_binding(std::uint32_t carriers);

/// Numbers of what a processor is part of; 0 where the host does not say.
struct processor_place {
    std::uint32_t cache = 0;  ///< last-level cache
    std::uint32_t socket = 0;
};
processor_place place_of_processor(std::uint32_t processor);

/// Binds the calling thread. @return whether the kernel agreed.
bool bind_thread(int processor);

/// While it lives, the calling thread may use the processors that it might before `bind_thread`; so
/// threads and processes that it starts are not bound to its own one, where they would wait for it
/// while it waits for them.
class unbound_scope {
public:
    unbound_scope();
    ~unbound_scope();
    unbound_scope(const unbound_scope&) = delete;
    unbound_scope& operator=(const unbound_scope&) = delete;

private:
    std::vector<unsigned long> bound_;  ///< the kernel's mask; empty: it was not bound
};

}  // namespace selion::machine::node
