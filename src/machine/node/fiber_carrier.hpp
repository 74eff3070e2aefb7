// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "machine/fiber/sanitizer_fiber.hpp"
#include "machine/node/fiber_stack.hpp"
#include "machine/node/thread_waiter.hpp"
#include "machine/waiter.hpp"

namespace selion::machine::node {

/// Runs several ranks as fibers on one thread, the carrier. A fiber runs until it waits for a word
/// that has not arrived; then the next one whose word has arrived runs, in the order of the ranks.
/// A fiber never leaves its carrier. Sleeping follows waiting.md, over the words of all fibers.
class fiber_carrier {
public:
    /// @param contexts of the ranks; their `waiter` is set here.
    /// @param body of a rank, called on its fiber.
    fiber_carrier(const wait_setting& setting, std::span<detail::rank_context> contexts,
                  std::size_t stack_bytes, std::function<void(detail::rank_context&)> body);
    ~fiber_carrier();
    fiber_carrier(const fiber_carrier&) = delete;
    fiber_carrier& operator=(const fiber_carrier&) = delete;

    /// Runs all ranks to their end on the calling thread.
    void run();

private:
    class fiber_rank;

    boost::context::fiber enter(fiber_rank& rank, boost::context::fiber&& from);
    bool wait(fiber_rank& rank, const wait_request& request);
    void switch_to(fiber_rank& next);
    fiber_rank* next_ready();
    void serve_mail();
    fiber_rank& wait_for_ready();
    void sleep();
    void settle(boost::context::fiber&& from);

    wait_setting setting_;
    std::function<void(detail::rank_context&)> body_;
    std::vector<std::unique_ptr<fiber_rank>> ranks_;
    std::unique_ptr<fiber_rank> thread_;  ///< the carrier's own stack
    fiber_rank* current_ = nullptr;
    fiber_rank* previous_ = nullptr;  ///< who switched to `current_`; null when it has ended
    std::size_t position_ = 0;        ///< of `current_` among the ranks
    std::size_t live_ = 0;
    std::size_t with_deadline_ = 0;
};

}  // namespace selion::machine::node
