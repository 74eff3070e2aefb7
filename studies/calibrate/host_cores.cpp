// SPDX-License-Identifier: Apache-2.0
#include "host_cores.hpp"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

#include <selion/machines.hpp>

namespace calibrate {
namespace {

constexpr std::size_t most_cores = 64;  // a node of a machine file has no more

class loaded_topology {
public:
    loaded_topology() {
        if (hwloc_topology_init(&topology_) != 0 || hwloc_topology_load(topology_) != 0) {
            throw std::runtime_error("hwloc cannot tell where the cores of this host lie.");
        }
        allowed_ = hwloc_bitmap_alloc();
        if (hwloc_get_cpubind(topology_, allowed_, HWLOC_CPUBIND_THREAD) != 0) {
            hwloc_bitmap_fill(allowed_);
        }
    }
    ~loaded_topology() {
        hwloc_bitmap_free(allowed_);
        hwloc_topology_destroy(topology_);
    }
    loaded_topology(const loaded_topology&) = delete;
    loaded_topology& operator=(const loaded_topology&) = delete;

    hwloc_obj_t root() const { return hwloc_get_root_obj(topology_); }

    std::vector<hwloc_obj_t> cores() const {
        std::vector<hwloc_obj_t> all;
        const int count = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_CORE);
        for (int i = 0; i < count; ++i) {
            all.push_back(
                hwloc_get_obj_by_type(topology_, HWLOC_OBJ_CORE, static_cast<unsigned>(i)));
        }
        return all;
    }

    /// -1: none.
    int first_allowed(hwloc_obj_t core) const {
        hwloc_bitmap_t both = hwloc_bitmap_alloc();
        hwloc_bitmap_and(both, core->cpuset, allowed_);
        const int first = hwloc_bitmap_first(both);
        hwloc_bitmap_free(both);
        return first;
    }

private:
    hwloc_topology_t topology_ = nullptr;
    hwloc_bitmap_t allowed_ = nullptr;
};

/// The outermost cache above a core; null if there is none.
hwloc_obj_t last_cache_of(hwloc_obj_t core) {
    hwloc_obj_t last = nullptr;
    for (hwloc_obj_t above = core->parent; above != nullptr; above = above->parent) {
        if (hwloc_obj_type_is_dcache(above->type)) last = above;
    }
    return last;
}

unsigned socket_of(hwloc_obj_t core) {
    for (hwloc_obj_t above = core->parent; above != nullptr; above = above->parent) {
        if (above->type == HWLOC_OBJ_PACKAGE) return above->logical_index;
    }
    return 0;
}

/// Cores of each group if all groups have equally many, else 0.
std::uint64_t equal_share(const std::vector<host_core>& cores, unsigned host_core::*group) {
    std::map<unsigned, std::uint64_t> counts;
    for (const host_core& core : cores) ++counts[core.*group];
    const std::uint64_t first = counts.begin()->second;
    const bool are_equal =
        std::all_of(counts.begin(), counts.end(), [&](auto& each) { return each.second == first; });
    return are_equal ? first : 0;
}

}  // namespace

host_cores find_cores() {
    const loaded_topology topology;
    host_cores host;
    host.memory_bytes = topology.root()->total_memory;
    for (hwloc_obj_t core : topology.cores()) {
        const int processor = topology.first_allowed(core);
        if (processor < 0) continue;
        const hwloc_obj_t cache = last_cache_of(core);
        // A core without a shared cache is its own group.
        const unsigned group = cache != nullptr ? cache->logical_index : core->logical_index;
        host.cores.push_back({static_cast<unsigned>(processor), group, socket_of(core)});
        if (cache == nullptr) continue;
        host.last_cache_bytes = cache->attr->cache.size;
        if (cache->attr->cache.linesize != 0) host.line_bytes = cache->attr->cache.linesize;
    }
    if (host.cores.empty()) throw std::runtime_error("hwloc finds no core that may be used.");
    const std::size_t usable = std::min<std::size_t>(selion::usable_cores(), most_cores);
    host.cores.resize(std::min(host.cores.size(), usable));
    return host;
}

void bind_to(const host_core& core) {
    cpu_set_t* set = CPU_ALLOC(core.processor + 1);
    const std::size_t bytes = CPU_ALLOC_SIZE(core.processor + 1);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(core.processor, bytes, set);
    const int trouble = sched_setaffinity(0, bytes, set) == 0 ? 0 : errno;
    CPU_FREE(set);
    if (trouble != 0) {
        throw std::runtime_error("A thread cannot be bound to processor " +
                                 std::to_string(core.processor) + ": " + std::strerror(trouble) +
                                 ".");
    }
}

node_shape shape_of(const std::vector<host_core>& cores) {
    const std::uint64_t of_socket = equal_share(cores, &host_core::socket);
    const std::uint64_t of_cache = equal_share(cores, &host_core::cache);
    node_shape shape{1, cores.size(), cores.size()};
    if (of_socket != 0) {
        shape.sockets = cores.size() / of_socket;
        shape.cores_per_socket = of_socket;
    }
    if (of_cache != 0) shape.cores_per_cache = of_cache;
    return shape;
}

}  // namespace calibrate
