// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace selion::machine::sim {

/// Where one rank's function runs and stops: a fiber, or a thread of which only one runs at a time.
class stack_of_rank {
public:
    virtual ~stack_of_rank() = default;
};

/// How ranks are stopped and continued. One of them runs at a time.
class execution {
public:
    virtual ~execution() = default;
    /// The stack that `run` was called on.
    virtual std::unique_ptr<stack_of_rank> adopt_caller() = 0;
    /// A new stack whose first switch calls `body`; when that returns, the rank's stack is left
    /// for the one that it returned.
    virtual std::unique_ptr<stack_of_rank> make(std::uint32_t rank,
                                                std::function<stack_of_rank&()> body) = 0;
    /// Stops `from`, which is running, and continues `to`. Returns when `from` is continued.
    virtual void change(stack_of_rank& from, stack_of_rank& to) = 0;
};

/// Called when a rank cannot run, or not go on, with a sentence that says why. Must not return.
using rank_trouble = std::function<void(std::uint32_t rank, const std::string& sentence)>;

/// Fibers on one thread.
/// @param stack_bytes of each rank, a multiple of the page size.
/// @param on_trouble for a stack that was too short, where no guard page has told of it.
std::unique_ptr<execution> make_fiber_execution(std::uint32_t ranks, std::size_t stack_bytes,
                                                rank_trouble on_trouble = {});

/// One thread for each rank, for debuggers, sanitizers and interpreters whose stacks must not be
/// exchanged.
std::unique_ptr<execution> make_thread_execution(rank_trouble on_trouble);

}  // namespace selion::machine::sim
