// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace selion::machine {

/// The same file under a number beyond those of the standard streams. In a process that was started
/// without these a new file gets one of their numbers, and what is printed would go there.
/// @param file closed if it gets another number; below 0: none.
/// @return -1: it cannot be had, and `errno` says why.
int beyond_standard_streams(int file);

/// Why there is none, where `errno` is ENOSYS or EPERM.
inline constexpr const char* no_memory_files =
    "the kernel refuses memfd_create (Linux 3.17 or newer, not blocked by a sandbox)";

/// A memfd without a byte; it has no name in any file system, and is closed when another program is
/// executed.
/// @return its descriptor; -1: it cannot be had, and `errno` says why.
int make_memory_file(const char* name);
/// @return as `ftruncate`; also where `ulimit -f` allows less, by which the system would end the
/// process.
int set_memory_bytes(int file, std::uint64_t bytes);
/// From now on nobody can resize or unseal it any more. @return false: `errno` says why.
bool seal_memory_file(int file);
/// The same who has not made it: whether it has been sealed.
bool is_sealed_memory_file(int file);

/// All of that. @return its descriptor; -1: it cannot be had, and `errno` says why.
int make_sealed_file(const char* name, std::uint64_t bytes);

}  // namespace selion::machine
