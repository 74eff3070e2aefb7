// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/syscall.h>

namespace selion::machine::node {

/// Lets another thread have the processor, as `sched_yield` does. Where ranks are more than cores
/// and each has a process of its own, a rank that comes back finds the translations of its pages
/// gone; so it goes to the kernel by itself, and not through pages of the C library.
inline void yield_processor() noexcept {
#if defined(__x86_64__)
    long number = SYS_sched_yield;
    asm volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
#else
    sched_yield();
#endif
}

}  // namespace selion::machine::node
