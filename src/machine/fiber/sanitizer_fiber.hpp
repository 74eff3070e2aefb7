// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace selion::machine {

/// Tells the address sanitizer that a stack is going to be unmapped. It would keep the marks of the
/// frames that were never left, and find them in whatever is mapped at that address next.
inline void forget_frames([[maybe_unused]] const void* low, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(low, bytes);
#endif
}

/// Tells sanitizers which stack runs. Empty in ordinary builds. Boost.Context 1.74 as Debian builds
/// it does not do so itself.
class sanitizer_fiber {
public:
    void set_stack([[maybe_unused]] const void* low, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
        low_ = low;
        bytes_ = bytes;
#endif
#if defined(__SANITIZE_THREAD__)
        thread_ = __tsan_create_fiber(0);
#endif
    }

    /// For the stack that a carrier thread starts on.
    void adopt_thread() {
#if defined(__SANITIZE_THREAD__)
        thread_ = __tsan_get_current_fiber();
#endif
    }

    /// Called on the old stack just before the switch.
    void leave_for([[maybe_unused]] sanitizer_fiber& next, [[maybe_unused]] bool for_ever) {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_start_switch_fiber(for_ever ? nullptr : &fake_stack_, next.low_, next.bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
        __tsan_switch_to_fiber(next.thread_, 0);
#endif
    }

    /// Called on the new stack just after the switch. @param from may be null when it is gone.
    void arrive([[maybe_unused]] sanitizer_fiber* from) {
#if defined(__SANITIZE_ADDRESS__)
        const void* low = nullptr;
        std::size_t bytes = 0;
        __sanitizer_finish_switch_fiber(fake_stack_, &low, &bytes);
        if (from != nullptr) {
            from->low_ = low;
            from->bytes_ = bytes;
        }
#endif
    }

    void destroy() {
#if defined(__SANITIZE_THREAD__)
        __tsan_destroy_fiber(thread_);
#endif
    }

private:
#if defined(__SANITIZE_ADDRESS__)
    void* fake_stack_ = nullptr;
    const void* low_ = nullptr;
    std::size_t bytes_ = 0;
#endif
#if defined(__SANITIZE_THREAD__)
    void* thread_ = nullptr;
#endif
};

}  // namespace selion::machine
