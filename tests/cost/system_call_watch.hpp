// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace cost {

/// Notices the system calls that the calling thread makes between `start` and `stop`, by asking the
/// kernel to announce each (Syscall User Dispatch). Ranks on one thread share one watch.
class system_call_watch {
public:
    /// Prepares the calling thread. @return false where processor, kernel or a sanitizer is in the
    /// way.
    static bool prepare();

    static void start();
    /// @return numbers of the system calls since `start`, in order, 64 at most; valid until the
    /// next `start`.
    static std::span<const long> stop();
};

}  // namespace cost
