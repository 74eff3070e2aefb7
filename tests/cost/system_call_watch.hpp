// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cost {

/// Notices the first system call that the calling thread makes between `start` and `stop`, by
/// asking the kernel to announce it (Syscall User Dispatch). Ranks on one thread share one watch.
class system_call_watch {
public:
    /// Prepares the calling thread. @return false where processor, kernel or a sanitizer is in the
    /// way.
    static bool prepare();

    static void start();
    /// @return number of the first system call since `start`; -1 when there was none.
    static long stop();
};

}  // namespace cost
