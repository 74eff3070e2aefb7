// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "machine/call_record.hpp"
#include "machine/machine.hpp"

namespace selion::onesided {

/// A completion handler that may wait, or something brief, and what counts when it has returned.
struct ripe_completion {
    void (*function)(void*);
    void* argument;
    std::uint32_t origin = 0;                             ///< of the message
    std::uint64_t target_counter = detail::null_address;  ///< global; `null_address`: none
    std::uint64_t completion_counter = 0;                 ///< address at the origin; 0: none
    /// Waits for nothing but room for what it sends: runs within the waits of others, too.
    bool is_brief = false;
    ripe_completion* next = nullptr;
};

/// Those that come, the first one first.
class completion_list {
public:
    bool empty() const { return first_ == nullptr; }
    void push(ripe_completion& one) {
        one.next = nullptr;
        (empty() ? first_ : last_->next) = &one;
        last_ = &one;
    }
    /// @pre there is one.
    ripe_completion* pop() { return std::exchange(first_, first_->next); }

private:
    ripe_completion* first_ = nullptr;
    ripe_completion* last_ = nullptr;
};

/// Calls the handler, and then counts.
void run_completion(detail::rank_context& context, const ripe_completion& what);

/// A function of the program that a message from `origin` calls must let no exception out.
/// @pre in the `catch` of one. @param which what the function is: "handler".
[[noreturn]] void end_for_exception(detail::rank_context& context, std::string_view which,
                                    std::uint32_t origin);

/// Whether the caller is in such a handler, or in what that has called.
inline bool in_completion(const detail::rank_context& caller) {
    if (caller.is_foreign_thread) return caller.beside != nullptr;
    return machine::look_at(caller.call->in_completion) != 0;
}

/// The completion handlers of one rank that may wait (`arrival::may_wait`). Handlers of messages
/// add them, and they run one at a time, in that order: beside the rank where its machine has a
/// place for that (`launcher::call_beside`), else on the rank's own stack, in its calls that wait
/// or serve messages. Brief ones run in the waits of those that may wait, too, which may be for
/// what they bring about. See progress.md.
class alignas(64) completion_queue {
public:
    completion_queue() = default;
    ~completion_queue();
    completion_queue(const completion_queue&) = delete;
    completion_queue& operator=(const completion_queue&) = delete;

    /// By a handler of a message to the rank, in whose context it runs.
    void add(detail::rank_context& handler, const ripe_completion& what);
    /// For what nobody but the rank's own stack is to run.
    void add_to_own_stack(detail::rank_context& handler, const ripe_completion& what);

    /// Whether the caller is the rank's own stack, where no handler of any kind runs.
    static bool is_run_by(const detail::rank_context& caller) {
        return !caller.is_foreign_thread && !caller.own.in_handler && !in_completion(caller);
    }
    /// Whether those that come are added by the rank's own thread, in its calls.
    static bool are_added_within_calls(const detail::rank_context& caller) {
        return caller.has_one_thread && !caller.spends_time;
    }
    /// Runs those that are there and have no other place. Where they are not the caller's to run,
    /// it moves on what a floor above has (`message_state::above`).
    void run(detail::rank_context& caller) {
        if (are_added_within_calls(caller) && !caller.own.has_ripe) return;
        if (!is_run_by(caller)) {
            run_brief(caller);
            return move_above(caller);
        }
        if (detail::word_load(ripe_) != started_) [[unlikely]]
            run_ripe(caller);
    }
    /// Waits as `clock::wait` does, and runs meanwhile what becomes ripe.
    bool await(detail::rank_context& caller, const machine::wait_request& request);
    /// Moves on what a floor above has.
    static void move_above(detail::rank_context& caller);
    /// By the rank itself: returns when all that were added have returned.
    /// @return their number, ever.
    std::uint64_t finish(detail::rank_context& own);

private:
    void run_ripe(detail::rank_context& caller);
    void add_kept(detail::rank_context& handler, ripe_completion& kept);
    bool await_within_calls(detail::rank_context& caller, const machine::wait_request& request);
    bool await_either(detail::rank_context& caller, const machine::wait_request& request);
    bool await_in_completion(detail::rank_context& caller, const machine::wait_request& request);
    static bool await_and_move(detail::rank_context& caller, const machine::wait_request& request);
    /// Whether the caller is the rank's own stack within a completion handler that may wait.
    bool may_run_brief(const detail::rank_context& caller) const {
        return !caller.is_foreign_thread && !caller.own.in_handler && !is_in_brief_;
    }
    bool has_one_to_run(const detail::rank_context& caller) const;
    void run_brief(detail::rank_context& caller);
    void take_added();
    ripe_completion* take();
    static void run_one(detail::rank_context& context, void* what);

    // What the rank's own stack looks at in each wait lies in one line.
    detail::shared_word ripe_{};  ///< how many have come for the rank's own stack
    std::uint64_t started_ = 0;   ///< of those
    completion_list brief_;       ///< those taken
    completion_list in_order_;    ///< and those that may wait
    bool is_in_brief_ = false;
    std::atomic<ripe_completion*> added_ = nullptr;  ///< the last one first
    std::atomic<std::uint64_t> added_count_ = 0;     ///< wherever they run
    detail::shared_word finished_{};                 ///< how many have returned
};

}  // namespace selion::onesided
