// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "offload/pending_call.hpp"
#include "offload/worker_group.hpp"
#include "offload/worker_wait.hpp"
#include "onesided/extent_allocator.hpp"
#include "selion/worker_pool.hpp"

namespace selion::detail {

/// Of what workers' memory is given out in: a vector register's worth and more.
inline constexpr std::uint64_t place_alignment = 64;
/// So many bytes and the rest of the last unit; one unit at least.
std::uint64_t padded(std::uint64_t bytes);

/// A pool on its host: which calls wait, who has which, and what becomes of them. The protocol is
/// told in src/offload/calls.md.
class pool_state {
public:
    /// Who makes a pool, and where.
    struct maker {
        rank_context* rank = nullptr;  ///< null: no rank
        std::source_location site = std::source_location::current();
    };
    pool_state(std::unique_ptr<offload::worker_group> workers, const worker_pool_options& options,
               const maker& made);
    /// Of ranks: this one is the host, or serves, or has no part.
    pool_state(offload::rank_part part, const worker_pool_options& options, const maker& made);

    void hold() { ++holders_; }
    bool drop() { return --holders_ == 0; }

    std::uint32_t size() const { return static_cast<std::uint32_t>(places_.size()); }
    std::uint32_t depth() const { return depth_; }
    std::uint32_t exchange_depth(std::uint32_t depth) { return std::exchange(depth_, depth); }
    bool measures() const { return measures_; }
    const pool_counts& counts() const { return counts_; }
    pool_profile profile() const;
    /// How calls follow each other, for predictions.
    offload_setting setting() const;
    /// Whether there are workers, and they are this process's own.
    bool is_open() const { return workers_ != nullptr && workers_->is_own(); }
    bool is_host() const { return is_host_; }
    /// @error bad_argument: calls are not made from here, or no longer.
    void expect_open() const;

    pending_call& begin(const call_options& options);
    void name_routine(pending_call& call, std::string_view name,
                      std::span<const routine_parameter> arguments,
                      const routine_parameter& result);
    void name_routine(pending_call& call, const routine_entry& routine);
    void start(pending_call& call);
    /// How long a call is waited for.
    struct patience {
        std::int64_t timeout_ns = -1;  ///< negative: for ever
        bool looks = true;             ///< stays awake for some time before it sleeps
        bool heeds_turns = false;      ///< back as soon as another thread wants a turn
        bool heeds_others = false;     ///< back as soon as another call ends, too
    };
    bool wait(pending_call& call, const patience& how, std::source_location site);
    /// Any thread: whoever waits, shared, leaves the pool to others.
    void want_turn() {
        is_wanted_.store(true, std::memory_order_relaxed);
        if (workers_ != nullptr) workers_->wake_host();
    }
    void cancel(pending_call& call);
    /// Workers end at once, and with them all calls that are not done.
    void kill_workers();
    void let_go(pending_call& call);
    /// Workers are replaced after so many calls that any of them could have had.
    /// @error not_available, bad_argument.
    void limit_calls(std::uint64_t most);

    /// On a rank that serves.
    void serve(std::source_location site);
    void progress();
    /// The same for who does not wait: now and then it looks for deaths and deadlines too.
    void poll();
    /// @return whether there were news.
    bool rest(std::int64_t deadline_ns, bool looks = true, bool heeds_turns = false);
    /// Waits for whatever comes next.
    void rest_once(std::source_location site);
    void wait_all(std::source_location site);
    /// All calls are over, and the workers go. What nobody has asked for is told.
    void close();

    worker_range allocate(std::uint32_t worker, std::uint64_t bytes, std::source_location site);
    void free(const worker_range& range);
    /// Elements of a range, from so many bytes on.
    struct part {
        const worker_range& range;
        std::uint64_t offset;
        std::uint64_t bytes;
    };
    void write(const part& to, const void* data, std::source_location site);
    void read(void* data, const part& from, std::source_location site);
    void copy(const worker_range& from, const worker_range& to, std::uint64_t bytes,
              std::source_location site);
    /// The same bytes in the memory of each worker; the ranges of places without a worker are lost.
    std::vector<worker_range> replicate(const void* data, std::uint64_t bytes,
                                        std::source_location site);
    /// Where the pool was made: the place of what waits without having one of its own.
    std::source_location made_at() const { return made_.site; }
    std::span<std::byte> shared() const {
        expect_open();
        return workers_->shared();
    }
    std::shared_ptr<void> shared_life() const {
        expect_open();
        return workers_->shared_life();
    }
    std::byte* allocate_shared(std::uint64_t bytes);
    void free_shared(const void* data);

private:
    /// One worker, as the host sees it.
    struct worker_place {
        /// For a successor. What lies in the memory is gone.
        void begin_anew() {
            ++generation;
            last_turn = taken = held = 0;
            memory = {};
            is_renewed = false;
        }

        /// Of the oldest call that is under way. Turns of these follow each other.
        std::uint64_t first_turn() const { return last_turn - sent.size() + 1; }

        std::uint32_t generation = 1;
        std::uint64_t last_turn = 0;
        std::deque<pending_call*> sent;    ///< oldest first; null: its call was taken back
        std::deque<pending_call*> pinned;  ///< calls that wait for this worker
        onesided::extent_allocator memory;
        std::exception_ptr gone;     ///< why no worker is here any more
        std::uint64_t taken = 0;     ///< calls that the limit is about, of the worker that is here
        std::uint64_t held = 0;      ///< of its calls that are over, those that somebody has yet
        std::uint32_t reserved = 0;  ///< see `reservation`
        bool is_renewed = false;     ///< one worker has gone, and its successor is not here yet
    };
    class ended_news;
    /// For its lifetime a call is being sent, or what came of one is being taken. On some machines
    /// that serves messages, whose handlers may start calls: these only begin to wait.
    class [[nodiscard]] handling {
    public:
        explicit handling(pool_state& pool) : pool_(pool) { ++pool_.handled_; }
        ~handling() { --pool_.handled_; }
        handling(const handling&) = delete;
        handling& operator=(const handling&) = delete;

    private:
        pool_state& pool_;
    };
    /// For its lifetime a worker gets no calls that another one could have: who wants its memory
    /// does not wait for the queue of these.
    class [[nodiscard]] reservation {
    public:
        explicit reservation(worker_place& place) : place_(place) { ++place_.reserved; }
        ~reservation() { --place_.reserved; }
        reservation(const reservation&) = delete;
        reservation& operator=(const reservation&) = delete;

    private:
        worker_place& place_;
    };
    /// What comes of a call that a worker could have.
    enum class offer_end {
        sent,
        must_wait,  ///< there is no room for its arguments until others are done
        not_here,   ///< but another worker can have it, now or later
        failed,     ///< no worker can have it: it has ended
    };

    void expect_fits(const pending_call& call) const;
    void expect_on_worker(std::uint32_t worker) const;
    void await_calls_of(worker_place& place);
    worker_place& expect_range(const part& wanted);
    /// @return any_worker: none is left.
    std::uint32_t least_loaded() const;
    std::int64_t deadline_in(std::int64_t timeout_ns) const;
    std::int64_t first_deadline() const;

    bool collect();
    void collect_from(std::uint32_t worker);
    void finish(std::uint32_t worker, pending_call& call);
    void take_results(std::uint32_t worker, pending_call& call, const offload::ended_call& ended);
    void send_waiting();
    bool send_next(std::uint32_t worker);
    offer_end offer(std::uint32_t worker, pending_call& call);
    void send(std::uint32_t worker, pending_call& call, std::int64_t since_ps);
    /// Whether one of its arrays lay in the memory of a worker that was there before.
    bool has_lost_array(std::uint32_t worker, const pending_call& call) const;
    bool can_have(std::uint32_t worker, pending_call& call);
    bool needs_room(const pending_call::span_use& use) const;
    bool allocate_spans(std::uint32_t worker, pending_call& call);
    void place_spans(std::uint32_t worker, pending_call& call);
    std::exception_ptr misfit(std::uint32_t worker, const pending_call& call) const;
    std::uint64_t place_span(std::uint32_t worker, const pending_call& call,
                             pending_call::span_use& use);
    void free_spans(std::uint32_t worker, pending_call& call);
    void remove_waiting(pending_call& call);
    void wait_again(pending_call& call);
    void relieve_workers();
    bool is_idle(const worker_place& place) const;
    pending_call* stuck_call(std::uint32_t worker);
    bool could_have(std::uint32_t worker, pending_call& call);
    bool take_back(pending_call& call);
    std::int64_t stamp_ps() const { return measures_ ? workers_->stamp_ps() : 0; }
    void note(model_time& where, std::int64_t since_ps);
    void note_way(const pending_call& call, const offload::ended_call& ended);

    void look_after_workers();
    void look_at_deadlines();
    void replace(std::uint32_t worker);
    void leave_empty(std::uint32_t worker, std::exception_ptr why);
    bool is_spent(const worker_place& place) const {
        return most_taken_ != 0 && place.taken >= most_taken_;
    }
    /// Whether a worker may be sent a call, but for its depth.
    bool may_have(const worker_place& place, const pending_call& call) const {
        const bool is_for_any = call.wanted_worker == any_worker;
        return !place.is_renewed && !(is_for_any && (place.reserved != 0 || is_spent(place)));
    }
    void renew_spent();
    void await_successor(std::uint32_t worker);
    void hold_worker(std::uint32_t worker, pending_call& call);
    void bury(std::uint32_t worker, const std::string& ending);
    void give_up(pending_call& call);
    void await_quietly(pending_call& call);

    /// Nobody asks for a call that has failed.
    void note_unseen(const pending_call& call);
    void settle(pending_call& call, std::exception_ptr trouble);
    void end(pending_call& call, std::exception_ptr trouble);
    void recycle_if_done(pending_call& call);

    maker made_;
    std::shared_ptr<void> ranks_memory_;
    std::unique_ptr<offload::worker_group> workers_;
    std::unique_ptr<offload::rank_service> service_;
    std::uint32_t depth_ = 1;
    std::uint32_t most_waiting_;
    std::uint32_t holders_ = 0;
    std::vector<worker_place> places_;
    std::deque<pending_call*> waiting_;  ///< for any worker
    std::uint64_t waiting_count_ = 0;    ///< these and the pinned ones
    std::uint64_t under_way_ = 0;        ///< calls that have not ended
    std::uint64_t timed_ = 0;            ///< of these, with a deadline
    std::uint64_t rests_ = 0;
    std::uint64_t polls_ = 0;
    std::atomic<bool> is_wanted_ = false;
    std::uint32_t handled_ = 0;     ///< calls; see `handling`
    bool has_joined_ = false;       ///< another has begun to wait meanwhile
    bool are_killed_ = false;       ///< nobody takes the place of the workers
    bool has_successors_ = false;   ///< places wait for workers that start
    bool is_uneven_ = false;        ///< the last look for calls to take back has found one
    std::uint64_t most_taken_ = 0;  ///< calls of a worker before another takes its place; 0: all
    std::int64_t looked_ns_ = 0;    ///< when a poll has last looked for deaths
    pool_counts counts_;
    bool measures_;
    pool_profile profile_;
    std::optional<std::int64_t> first_ps_;  ///< when the first call began
    std::int64_t noted_ps_ = 0;
    model_time way_{0};  ///< of arguments, after the host has sent them
    std::int64_t way_ps_ = 0;
    std::int64_t way_until_ps_ = 0;  ///< the last one that is known
    std::uint64_t ways_ = 0;         ///< calls whose way is known
    std::vector<std::unique_ptr<pending_call>> records_;
    pending_call* free_records_ = nullptr;
    std::exception_ptr unseen_;  ///< of the first failed call that nobody has asked for
    std::uint64_t unseen_count_ = 0;
    onesided::extent_allocator shared_;
    /// Routines of this program that have been called, and their numbers on the workers.
    std::vector<std::pair<const routine_entry*, std::uint32_t>> known_;
    bool is_host_;
};

}  // namespace selion::detail
