// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "host_cores.hpp"
#include "timing.hpp"

/// What lies behind the caches.
namespace calibrate {

/// Bytes that do not fit into the last cache: a power of two from twice as much as the cache on,
/// where a quarter of the memory allows it, and 512 MiB at most: touching more would take longer
/// than all the rest.
std::uint64_t bytes_beyond_caches(const host_cores& host);

/// A load of a line that no cache has, each naming the next one. Fills `bytes` of memory.
/// @error std::bad_alloc
study::spread from_memory_ns(const effort& how, std::uint64_t bytes);

/// Bytes that each of the cores reads in a nanosecond while all of them read, added up.
/// @error std::bad_alloc
study::spread bytes_per_ns(const effort& how, const std::vector<host_core>& cores,
                           std::uint64_t bytes);

}  // namespace calibrate
