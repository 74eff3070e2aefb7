// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace selion::machine {

/// The host's finest steady count: the processor's counter of constant rate, where it has one that
/// the process may read; else nanoseconds. Comparable between the processors of one host.
/// @cost some nanoseconds
std::int64_t host_ticks();

/// How many of them are a second. @cost 5 ms, the first time
double host_ticks_per_second();

}  // namespace selion::machine
