// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

/// What a programmer would write by hand in memory that two cores share.
namespace bench::bare {

/// A flag alone in its pair of cache lines, with room for a payload in the same line.
struct alignas(128) flag_line {
    std::uint64_t flag;
    std::uint64_t spare;  // where a signal of Selion has its mark
    std::uint64_t payload;
};

inline void raise(std::uint64_t& flag, std::uint64_t value) {
    std::atomic_ref(flag).store(value, std::memory_order_release);
}

/// What a spinning loop does between two looks.
enum class between_looks {
    nothing,  ///< sees a change first, but reads ahead: it takes lines from the core that writes
    pause,
};

inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

template <between_looks Between = between_looks::nothing>
void await(std::uint64_t& flag, std::uint64_t value) {
    while (std::atomic_ref(flag).load(std::memory_order_acquire) < value) {
        if constexpr (Between == between_looks::pause) pause_processor();
    }
}

}  // namespace bench::bare
