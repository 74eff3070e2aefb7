// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/engine.hpp"

#include <algorithm>

namespace selion::machine::sim {
namespace {

/// Orders count a rank's causes below its number: 2^44 of them.
constexpr unsigned count_bits = 44;

/// Fewer pending events than this have their memory in a cache anyway.
constexpr std::size_t many_pending = 1024;

}  // namespace

engine::engine(std::uint32_t ranks, std::unique_ptr<execution> how,
               std::function<void()> on_deadlock)
    : execution_(std::move(how)), on_deadlock_(std::move(on_deadlock)), tasks_(ranks) {
    for (std::uint32_t number = 0; number < ranks; ++number) {
        tasks_[number].number = number;
        tasks_[number].next_order = std::uint64_t{number} << count_bits;
    }
}

void engine::run(const std::function<void(std::uint32_t)>& body) {
    main_.stack = execution_->adopt_caller();
    main_.context = detail::current_context;
    live_ = ranks();
    for (task& rank : tasks_) {
        // An engine alone has ranks without a machine around them.
        if (rank.context == nullptr) rank.context = main_.context;
        rank.stack = execution_->make(rank.number, [this, &rank, &body]() -> stack_of_rank& {
            detail::current_context = rank.context;
            body(rank.number);
            --live_;
            task* const next = live_ == 0 ? &main_ : next_rank();
            current_ = next;
            return *next->stack;
        });
        resume_at(rank, 0);
    }
    current_ = &main_;
    switch_to(*next_rank());
}

void engine::resume_at(task& rank, ticks at) { schedule(rank, std::max(at, rank.now), rank); }

void engine::steal(task& rank, ticks amount) {
    (is_armed(rank) ? rank.stolen : rank.now) += amount;
}

/// Lets events happen until one continues a rank.
task* engine::next_rank() {
    while (true) {
        if (queue_.empty()) on_deadlock_();
        const event_queue::entry next = queue_.pop();
        event& what = *next.what;
        if (queue_.size() > many_pending) {
            // With many ranks their memory is in no cache: the next event's comes while this one
            // happens.
            __builtin_prefetch(queue_.top().what->soon);
            queue_.prefetch_next();
        }
        if (what.armed_order != next.due.order) continue;  // cancelled
        what.armed_order = 0;
        now_ = next.due.at;
        ++happened_;
        if (what.act != nullptr) {
            what.act(*this, what);
            continue;
        }
        task& rank = static_cast<task&>(what);
        rank.now = std::max(rank.now, next.due.at);
        if (rank.stolen == 0) return &rank;
        rank.now += rank.stolen;
        rank.stolen = 0;
        resume_at(rank, rank.now);
    }
}

void engine::suspend() {
    current_->soon = __builtin_frame_address(0);
    task* const next = next_rank();
    if (next != current_) switch_to(*next);
}

void engine::switch_to(task& next) {
    task& self = *current_;
    current_ = &next;
    execution_->change(*self.stack, *next.stack);
    detail::current_context = self.context;
}

}  // namespace selion::machine::sim
