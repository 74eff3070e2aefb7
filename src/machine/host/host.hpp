// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

/// What this host gives to the calling process.
namespace selion::machine {

/// Bytes of memory that the process may use: physical memory, or the limit of a cgroup
/// that it is in if smaller.
std::uint64_t memory_limit_bytes();
/// Bytes of addresses that the memory of all ranks may take when nobody says how much: half of what
/// `ulimit -v`, `ulimit -d` and `ulimit -f` leave the process, whose code and other memory need
/// some too; with no such limit, as many as there are.
std::uint64_t easy_address_bytes();

/// Names of the limits that bound how much memory the process may map, as in "`ulimit -v` and
/// `ulimit -d`"; empty: none does.
std::string mapping_limits();

/// Assumed of the local variables of one function, which compilers do not probe page by page: so
/// far beyond the end of a stack a fault counts as the stack's.
inline constexpr std::uint64_t largest_frame_bytes = std::uint64_t{64} << 20;
/// Bytes that nobody may touch below a stack which others lie behind, so that a large frame is a
/// fault and not another's variables. Addresses alone; less where there are few of those.
std::uint64_t stack_guard_bytes();

std::uint64_t page_bytes();

/// Nanoseconds of the host's steady clock.
std::int64_t host_time_ns();

/// What the processor is: its brand, family, model and stepping as /proc/cpuinfo has them, or on
/// 64-bit ARM the number that names its design; empty where it does not say.
std::string processor_name();
/// A short name for what decides how quick this host is: its processor and how many of them the
/// process may use. Hosts that are alike have it in common.
std::string host_fingerprint();
/// The same of a process that may use all of them: a launcher may bind a rank to one.
std::string whole_host_fingerprint();

/// Whether a signal of this process goes to `handler`, which may be SIG_DFL.
bool is_handled_by(int number, void (*handler)(int));

/// Built with a sanitizer that watches memory or threads; reserves are then small and fatal signals
/// are left to it.
constexpr bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    return false;
#endif
}

}  // namespace selion::machine
