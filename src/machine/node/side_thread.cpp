// SPDX-License-Identifier: Apache-2.0
#include "machine/node/side_thread.hpp"

#include <unistd.h>

#include <utility>

#include "machine/node/run_soon.hpp"
#include "machine/process/crash_handler.hpp"

namespace selion::machine::node {

side_thread::side_thread(const detail::rank_context& rank, std::unique_ptr<waiter> own,
                         call_record& record)
    : context_(rank), waiter_(std::move(own)) {
    context_.waiter = waiter_.get();
    context_.is_foreign_thread = true;
    context_.beside = &record;
    publish(record.program_start, program_start);
    publish(record.process, static_cast<std::int32_t>(getpid()));
    context_.recorder = nullptr;
    thread_ = std::thread([this] { run(); });
}

side_thread::~side_thread() {
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void side_thread::add(void (*function)(detail::rank_context&, void*), void* argument) {
    {
        const std::lock_guard lock(mutex_);
        calls_.push_back({function, argument});
    }
    changed_.notify_one();
}

bool side_thread::await_call(call& next) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_ending_ || !calls_.empty(); });
    if (calls_.empty()) return false;
    next = calls_.front();
    calls_.pop_front();
    return true;
}

void side_thread::run() {
    const signal_stack stack_for_signals;
    ask_to_run_soon();
    detail::current_context = &context_;
    for (call next{}; await_call(next);) next.function(context_, next.argument);
}

}  // namespace selion::machine::node
