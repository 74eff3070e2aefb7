// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cost {

/// How often the calling thread has asked for a mutex or a lock of readers and writers, whether or
/// not it got one, since it began.
std::uint64_t locks_of_this_thread();

}  // namespace cost
