// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/batch_timer.hpp"

#include <chrono>

#include "machine/node/run_soon.hpp"
#include "machine/process/crash_handler.hpp"

namespace selion::machine::fabric {
namespace {

constexpr std::chrono::microseconds period{500};

}  // namespace

batch_timer::~batch_timer() {
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void batch_timer::note_begun() {
    bool is_asleep = false;
    {
        const std::lock_guard lock(mutex_);
        has_batches_ = true;
        is_asleep = is_asleep_;
        if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    }
    if (is_asleep) changed_.notify_one();
}

void batch_timer::run() {
    const signal_stack stack_for_signals;
    node::ask_to_run_soon();
    std::unique_lock lock(mutex_);
    while (true) {
        is_asleep_ = true;
        changed_.wait(lock, [this] { return has_batches_ || is_ending_; });
        is_asleep_ = false;
        changed_.wait_for(lock, period, [this] { return is_ending_; });
        if (is_ending_) return;
        has_batches_ = false;
        // Batches are begun with the port's lock held: not this one then.
        lock.unlock();
        const bool has_more = send_old();
        lock.lock();
        has_batches_ |= has_more;
    }
}

bool batch_timer::send_old() {
    bool has_more = false;
    for (port* const one : ports_) has_more |= one->send_old_batches();
    return has_more;
}

}  // namespace selion::machine::fabric
