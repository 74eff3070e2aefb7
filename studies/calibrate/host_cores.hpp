// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace calibrate {

/// One core that this process may use.
struct host_core {
    unsigned processor = 0;  ///< its first hardware thread that is allowed, the system's number
    unsigned cache = 0;      ///< cores with equal numbers share the last cache
    unsigned socket = 0;
};

/// Where the cores lie on which ranks would run: one rank a core, as many as are usable.
struct host_cores {
    std::vector<host_core> cores;
    std::uint64_t line_bytes = 64;
    std::uint64_t last_cache_bytes = 0;  ///< 0: unknown
    std::uint64_t memory_bytes = 0;
};

/// @error std::runtime_error if hwloc does not know.
host_cores find_cores();

/// The calling thread stays there. @error std::runtime_error, with the system's reason.
void bind_to(const host_core& core);

/// A node as machine files describe it: each socket alike, each cache alike.
struct node_shape {
    std::uint64_t sockets = 1;
    std::uint64_t cores_per_socket = 1;
    std::uint64_t cores_per_cache = 1;
};

/// One socket with all cores if those that are usable do not fill equal sockets.
node_shape shape_of(const std::vector<host_core>& cores);

}  // namespace calibrate
