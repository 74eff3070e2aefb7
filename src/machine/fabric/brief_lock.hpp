// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "machine/node/yield.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::fabric {

/// A lock that is held for as long as it takes to write a frame down, to hand one to the provider
/// or to have that look for what has come. An exchange takes it and a store gives it back, which
/// costs a third of what a std::mutex does where nobody else wants it. Who finds it taken looks
/// again, then lets others run, then naps: nobody sleeps until he is woken, so nobody has to be
/// looked for.
class brief_lock {
public:
    void lock() noexcept {
        // acquire: what the last holder did [fabric.lock]
        while (is_held_.exchange(true, std::memory_order_acquire)) [[unlikely]]
            await();
    }
    // release: for the next holder [fabric.lock]
    void unlock() noexcept { is_held_.store(false, std::memory_order_release); }

private:
    static constexpr int looks = 64;
    static constexpr int yields = 64;
    static constexpr std::chrono::microseconds nap{50};

    [[gnu::noinline]] void await() const noexcept {
        for (int i = 0; is_held_.load(std::memory_order_relaxed); ++i) {
            if (i < looks) {
                detail::pause_processor();
            } else if (i < looks + yields) {
                node::yield_processor();
            } else {
                std::this_thread::sleep_for(nap);
            }
        }
    }

    std::atomic<bool> is_held_ = false;
};

}  // namespace selion::machine::fabric
