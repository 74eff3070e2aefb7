// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/engine/engine.hpp"

#include <algorithm>
#include <utility>

namespace selion::machine::sim {
namespace {

/// Orders count a rank's causes below its number: 2^44 of them, but for those by which ranks begin.
constexpr unsigned count_bits = 44;

/// With many ranks their memory is in no cache. An event is fetched that many events before it
/// happens, and what it will touch some events later.
constexpr std::size_t fetch_event_ahead = 12;
constexpr std::size_t fetch_memory_ahead = 8;
constexpr std::size_t fetch_rank_ahead = 4;
constexpr std::uintptr_t cache_line = 64;

/// @param first any address: what is not mapped is not fetched.
/// Inline, because g++ 12 takes a function that only fetches for one without effect.
[[gnu::always_inline]] inline void fetch(std::uintptr_t first, std::uintptr_t lines) {
    for (std::uintptr_t line = 0; line < lines; ++line) {
        __builtin_prefetch(reinterpret_cast<const void*>(first + line * cache_line));
    }
}
[[gnu::always_inline]] inline void fetch(const void* first, std::uintptr_t lines) {
    fetch(reinterpret_cast<std::uintptr_t>(first), lines);
}

}  // namespace

engine::engine(std::uint32_t ranks, std::unique_ptr<execution> how,
               std::function<void()> on_deadlock)
    : execution_(std::move(how)), on_deadlock_(std::move(on_deadlock)), tasks_(ranks) {
    for (std::uint32_t number = 0; number < ranks; ++number) {
        tasks_[number].number = number;
        tasks_[number].concerns = &tasks_[number];
        tasks_[number].next_order = (std::uint64_t{number} << count_bits) + ranks;
    }
}

void engine::run(const std::function<void(std::uint32_t)>& body) {
    main_.stack = execution_->adopt_caller();
    main_.context = detail::current_context;
    live_ = ranks();
    for (task& rank : tasks_) {
        // An engine alone has ranks without a machine around them.
        if (rank.context == nullptr) rank.context = main_.context;
        rank.body = [&rank, &body] { body(rank.number); };
        // With orders of their own, before all others: what the first ones send at the start must
        // meet ranks that have begun.
        rank.armed_order = std::uint64_t{rank.number} + 1;
        queue_.push({{0, rank.armed_order}, &rank});
    }
    give_turn(main_);
    switch_to(*next_rank());
}

void engine::run_again(task& rank, ticks at, std::function<void()> body) {
    rank.body = std::move(body);
    ++live_;
    resume_at(rank, at);
}

/// On a stack of the rank. @return the stack that goes on when the rank is done.
stack_of_rank& engine::run_body(task& rank) {
    task* next = &rank;
    do {
        detail::current_context = rank.context;
        std::exchange(rank.body, nullptr)();
        --live_;
        next = next_rank();
    } while (next == &rank);  // events have run on this stack, and one has given it a body
    give_turn(*next);
    return stack_of(*next);
}

/// A rank's stack: a new one if it has to begin, after its old one has been left for good.
stack_of_rank& engine::stack_of(task& rank) {
    if (rank.body != nullptr) {
        rank.stack = execution_->make(rank.number,
                                      [this, &rank]() -> stack_of_rank& { return run_body(rank); });
    }
    return *rank.stack;
}

void engine::resume_at(task& rank, ticks at) {
    cancel(rank);  // an earlier entry, if it has one, is in vain
    schedule(rank, std::max(at, rank.now), rank);
}

void engine::steal(task& rank, ticks amount) {
    ticks& longer = is_armed(rank) ? rank.stolen : rank.now;
    longer = later(longer, amount);
}

[[gnu::always_inline]] inline void engine::fetch_ahead() const {
    if (queue_.in_sight() <= fetch_event_ahead) return;
    fetch(queue_.ahead(fetch_event_ahead).what, 2);
    const event& next = *queue_.ahead(fetch_memory_ahead).what;
    fetch(next.touches, 1);
    fetch(next.concerns, 2);
    if (const task* const rank = queue_.ahead(fetch_rank_ahead).what->concerns) {
        fetch(rank->context, 2);
        fetch(rank->stack.get(), 1);
        fetch(rank->frame - 3 * cache_line, 8);
    }
}

/// A deadline is far away, and mostly what it limits is over soon: a program that waits often would
/// fill the queue with them.
void engine::drop_cancelled() {
    queue_.drop([](const queue_entry& one) { return one.what->armed_order != one.due.order; });
    cancelled_ = 0;
}

/// Lets events happen until one continues a rank. When all bodies have returned and nothing is to
/// come any more, the caller of `run` goes on.
task* engine::next_rank() {
    while (true) {
        if (queue_.empty()) {
            if (live_ == 0) return &main_;
            on_deadlock_();
        }
        const queue_entry next = queue_.pop();
        event& what = *next.what;
        fetch_ahead();
        if (what.armed_order != next.due.order) {
            --cancelled_;
            continue;
        }
        if (is_beyond(next.due.at)) [[unlikely]]
            on_beyond_(what, next.due.order >> count_bits);
        what.armed_order = 0;
        set_now(next.due.at);
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
    current_->frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    task* const next = next_rank();
    if (next != current_) switch_to(*next);
}

void engine::switch_to(task& next) {
    task& self = *current_;
    give_turn(next);
    execution_->change(*self.stack, stack_of(next));
    detail::current_context = self.context;
}

}  // namespace selion::machine::sim
