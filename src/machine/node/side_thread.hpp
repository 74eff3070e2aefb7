// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "machine/call_record.hpp"
#include "machine/waiter.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::machine::node {

/// A thread that works for one rank beside its own: it makes calls that may wait, one after
/// another. Without any it sleeps.
class side_thread {
public:
    /// @param rank is copied. @param own how the calls wait. @param record what they are.
    side_thread(const detail::rank_context& rank, std::unique_ptr<waiter> own, call_record& record);
    /// Makes the calls that are left, and ends the thread.
    ~side_thread();
    side_thread(const side_thread&) = delete;
    side_thread& operator=(const side_thread&) = delete;

    void add(void (*function)(detail::rank_context&, void*), void* argument);

private:
    struct call {
        void (*function)(detail::rank_context&, void*);
        void* argument;
    };
    void run();
    /// @return whether there is another one; else the thread ends.
    bool await_call(call& next);

    detail::rank_context context_;  ///< its own copy
    std::unique_ptr<waiter> waiter_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<call> calls_;
    bool is_ending_ = false;
    std::thread thread_;
};

}  // namespace selion::machine::node
