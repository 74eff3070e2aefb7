// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace bench {

inline std::int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// Makes the compiler forget what it knows of memory, so that no store is merged or moved.
inline void clobber() { asm volatile("" ::: "memory"); }

/// Makes the compiler compute a value that nobody uses.
template <class T>
void consume(const T& value) {
    asm volatile("" : : "r"(value) : "memory");
}

}  // namespace bench
