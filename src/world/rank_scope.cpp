// SPDX-License-Identifier: Apache-2.0
#include "selion/rank_scope.hpp"

#include "machine/machine.hpp"
#include "machine/process/crash_handler.hpp"
#include "selion/expect.hpp"

namespace selion {

rank_scope::rank_scope(const world& all, std::source_location site)
    : context_(all.context()),
      outer_(detail::current_context),
      stack_for_signals_(std::make_unique<machine::signal_stack>()) {
    SELION_EXPECT_AT(context_.host->description().capabilities.real_time, site,
                     "rank_scope: a rank of a simulated machine is one thread");
    SELION_EXPECT_AT(context_.host->thread_level() != thread_level::single, site,
                     "rank_scope: the job's thread level is single; pass "
                     "{.thread_level = selion::thread_level::multiple} to selion::run, or set "
                     "SELION_THREAD_LEVEL=multiple");
    SELION_EXPECT_AT(outer_->ranks == 0, site, "rank_scope: this thread works for a rank already");
    context_.own.signal_count = context_.bypass_count;
    context_.is_foreign_thread = true;
    context_.recorder = nullptr;  // a recorder belongs to one thread
    context_.waiter = context_.host->launcher().join_thread(context_);
    if (context_.waiter == nullptr) {
        throw error(status::not_available,
                    "rank_scope: too many threads have joined; raise SELION_JOINED_THREADS",
                    {.rank = context_.rank, .operation = "rank_scope"});
    }
    detail::current_context = &context_;
}

rank_scope::~rank_scope() {
    detail::current_context = outer_;
    context_.host->launcher().leave_thread(context_.waiter);
}

}  // namespace selion
