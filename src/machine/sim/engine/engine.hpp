// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "machine/sim/engine/event_queue.hpp"
#include "machine/sim/engine/execution.hpp"
#include "machine/sim/engine/virtual_time.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::machine::sim {

class engine;
struct task;

/// Something that happens at a time. Whoever owns it keeps it alive until it has happened; if it
/// was cancelled, as long as the engine.
struct event {
    using action = void (*)(engine&, event&);
    action act = nullptr;           ///< null: a rank goes on
    std::uint64_t armed_order = 0;  ///< of its entry in the queue; 0 when it is not pending
    // Worth fetching before it happens, because with many ranks nothing is in a cache.
    const void* touches = nullptr;   ///< what its action reads or writes
    const task* concerns = nullptr;  ///< a rank that may go on with it
};

/// One rank as the engine sees it: a stack, and a clock that may be ahead of the engine's.
/// What it needs to be woken is in its first cache line.
struct alignas(64) task : event {
    ticks now = 0;     ///< the rank's own time, never behind the engine's while it runs
    ticks stolen = 0;  ///< time that interrupts took while it computed; added when it goes on
    std::uint64_t next_order = 0;
    std::uint32_t number = 0;
    detail::rank_context* context = nullptr;  ///< current while the rank runs
    std::uintptr_t frame = 0;                 ///< where on its stack it has stopped, while it has
    std::unique_ptr<stack_of_rank> stack;
    std::function<void()> body;  ///< that it is to begin with, on a new stack
};

/// Runs ranks in virtual time: always the earliest event next. A rank computes ahead on its own
/// clock and falls in with the others (`catch_up`) before it does what they could notice.
///
/// Ties. Events of equal time happen in the order of the ranks that caused them, and those of one
/// rank in the order in which it caused them. So a run is a function of program, machine and seed.
class engine {
public:
    /// @param ranks 1 .. 2^20 - 1.
    /// @param on_deadlock called on some rank's stack when no event is left and ranks still wait;
    /// must not return.
    engine(std::uint32_t ranks, std::unique_ptr<execution> how, std::function<void()> on_deadlock);
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    /// Called with an event, or a rank, whose time would be later than time may become, and the
    /// number of the rank that caused it (some number beyond all ranks: none did).
    using beyond_time = std::function<void(const event&, std::uint64_t)>;
    /// @param on_beyond must not return.
    void limit_time(ticks latest, beyond_time on_beyond) {
        latest_ = latest;
        on_beyond_ = std::move(on_beyond);
    }

    /// Runs `body(rank)` of every rank to its end, rank 0 first, and lets everything happen that is
    /// to come then.
    void run(const std::function<void(std::uint32_t)>& body);

    /// The rank that runs now, or whose stack the engine borrows for an event.
    task& current() { return *current_; }
    task& rank(std::uint32_t number) { return tasks_[number]; }
    std::uint32_t ranks() const { return static_cast<std::uint32_t>(tasks_.size()); }
    /// Time of the event that happens now. A running rank's own time is `current().now`.
    ticks now() const { return now_; }
    std::uint64_t events_so_far() const { return happened_; }

    /// Whose stack runs, and a count that changes whenever another one does. Any thread may ask.
    struct turn {
        std::uint32_t rank;  ///< beyond all ranks: the caller of `run`
        std::uint64_t count;
    };
    turn turn_now() const {
        const std::uint64_t seen = turn_.load(std::memory_order_relaxed);
        return {static_cast<std::uint32_t>(seen & most_ranks), seen >> rank_bits};
    }
    /// `now` for any thread.
    ticks seen_now() const {
        return std::atomic_ref(const_cast<ticks&>(now_)).load(std::memory_order_relaxed);
    }

    /// Whether nothing is due before the current rank's time. Then this is the engine's time, too.
    bool has_caught_up() {
        const task& self = *current_;
        const bool is_first =
            queue_.empty() || due_time{self.now, order_of(self)} < queue_.top().due;
        if (is_first) {
            if (is_beyond(self.now)) [[unlikely]]
                on_beyond_(self, self.number);
            set_now(self.now);
        }
        return is_first;
    }
    /// Lets everything happen that is due before the current rank's time. Afterwards the rank may
    /// do what others could notice.
    void catch_up() {
        if (has_caught_up()) [[likely]]
            return;
        resume_at(*current_, current_->now);
        suspend();
    }

    /// Stops the current rank until somebody resumes it.
    void suspend();
    /// Lets a suspended rank go on at a time, or at its own if that is later.
    void resume_at(task& rank, ticks at);
    /// Gives a rank whose body has returned another one. By an event, or by another rank.
    void run_again(task& rank, ticks at, std::function<void()> body);
    /// Whether a rank that is suspended is sure to go on by itself.
    static bool is_armed(const event& what) { return what.armed_order != 0; }

    /// Lets an event happen at `at`, which must not lie before `now()`.
    /// @param cause whose place in the order of ties it takes.
    void schedule(event& what, ticks at, task& cause) {
        what.armed_order = ++cause.next_order;
        queue_.push({{at, what.armed_order}, &what});
    }
    /// @cost little over time: its entry stays until it is due, or most entries are such.
    void cancel(event& what) {
        if (std::exchange(what.armed_order, 0) == 0) return;
        if (++cancelled_ > most_cancelled && cancelled_ > queue_.size() / 2) drop_cancelled();
    }
    /// Entries that wait to happen, and those of events that were cancelled.
    std::size_t entries() const { return queue_.size(); }
    /// Events that wait to happen.
    std::size_t pending() const { return queue_.size() - cancelled_; }

    /// Takes time from a rank for something else: an interrupt.
    void steal(task& rank, ticks amount);

private:
    static constexpr std::size_t most_cancelled = 1024;  ///< that are never looked for
    static constexpr unsigned rank_bits = 20;
    static constexpr std::uint64_t most_ranks = (std::uint64_t{1} << rank_bits) - 1;

    /// Also of a time that is no sum any more, which is negative.
    bool is_beyond(ticks at) const {
        return static_cast<std::uint64_t>(at) > static_cast<std::uint64_t>(latest_);
    }
    void set_now(ticks at) { std::atomic_ref(now_).store(at, std::memory_order_relaxed); }
    void give_turn(task& next) {
        current_ = &next;
        const std::uint64_t number = &next == &main_ ? most_ranks : next.number;
        turn_.store((++turns_ << rank_bits) | number, std::memory_order_relaxed);
    }
    static std::uint64_t order_of(const task& rank) { return rank.next_order + 1; }
    stack_of_rank& run_body(task& rank);
    stack_of_rank& stack_of(task& rank);
    task* next_rank();
    void fetch_ahead() const;
    void drop_cancelled();
    void switch_to(task& next);

    std::unique_ptr<execution> execution_;
    std::function<void()> on_deadlock_;
    beyond_time on_beyond_;
    ticks latest_ = end_of_time;
    std::vector<task> tasks_;
    event_queue queue_;
    std::size_t cancelled_ = 0;  ///< entries of the queue
    ticks now_ = 0;
    task* current_ = nullptr;
    task main_;  ///< who called `run`
    std::uint32_t live_ = 0;
    std::uint64_t happened_ = 0;
    std::uint64_t turns_ = 0;
    std::atomic<std::uint64_t> turn_ = most_ranks;
};

}  // namespace selion::machine::sim
