// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include "machine/call_record.hpp"
#include "machine/machine.hpp"
#include "onesided/deaths.hpp"
#include "onesided/message_state.hpp"
#include "selion/counter.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/detail/word_access.hpp"
#include "selion/expect.hpp"

namespace selion::detail {

/// What is wrong with a wait in a handler.
/// @param waits what the program calls it. @param cure what it should do.
std::string sentence_of_wait(
    std::string_view waits,
    std::string_view cure =
        "start the operation and let its completion start what follows, or leave that to a "
        "completion handler that may wait");

inline void expect_may_wait(const rank_context& context, std::string_view waits,
                            std::source_location site) {
    SELION_EXPECT_AT(!context.own.in_handler, site, sentence_of_wait(waits));
}
/// Of an operation that has to wait because the memory of `rank` is not mapped.
inline void expect_may_reach(const rank_context& context, std::string_view operation,
                             std::uint32_t rank, std::source_location site) {
    SELION_EXPECT_AT(!context.own.in_handler, site,
                     sentence_of_wait(std::string(operation) + " of memory of rank " +
                                          std::to_string(rank) + ", which is not mapped here",
                                      "ask for a future (selion::as_future) and let `then` do what "
                                      "follows"));
}

/// The rank may be inside a collective, whose steps are its own.
inline void expect_not_in_completion(const rank_context& context, machine::operation what,
                                     std::source_location site) {
    SELION_EXPECT_AT(!onesided::in_completion(context), site,
                     std::string(name_of(what)) +
                         " is a collective; a completion handler runs beside its rank's own "
                         "calls, and must not take part in one");
}

/// @param timeout_ns negative: for ever.
inline std::int64_t deadline_after(rank_context& context, std::int64_t timeout_ns) {
    if (timeout_ns < 0) return machine::no_deadline;
    const std::int64_t now_ns = context.clock->now_ns();
    return timeout_ns > machine::no_deadline - now_ns ? machine::no_deadline : now_ns + timeout_ns;
}

/// Runs completion handlers that have become ripe, where they are the caller's to run.
inline void run_completions(rank_context& context) {
    if (context.messages != nullptr) context.messages->completions.run(context);
}

/// Value of the counter's word at which it has reached `count`, if it has not yet.
inline std::uint64_t goal_of(counter& which, std::uint64_t count) {
    return counter_access::taken(which) + count - counter_access::own(which);
}

/// As `await` and `run_completions`, in a wait of another limit than the one around it, if there is
/// one: what is moved on for others in the meantime keeps to it.
bool await_in_time(rank_context& context, const machine::wait_request& request);
void run_completions_in_time(rank_context& context, std::int64_t timeout_ns);

/// Every wait of the floors above goes through here: completion handlers run meanwhile.
/// @return whether the word arrived before the deadline. @error status::rank_dead
inline bool await(rank_context& context, const machine::wait_request& request) {
    if (context.messages == nullptr) return context.clock->wait(context, request);
    if (request.deadline_ns != context.own.outer_deadline_ns) [[unlikely]]
        return await_in_time(context, request);
    if (context.deaths != nullptr) [[unlikely]]
        return onesided::await_among_mortals(context, request);
    return context.messages->completions.await(context, request);
}

/// @error selion::error, status::timed_out: the collective has taken too long.
[[noreturn]] void end_collective_wait(const rank_context& caller);

/// Waits for a word that others change in a collective, as whoever belongs to the context.
inline void await_word(rank_context& context, const machine::wait_request& request) {
    if (context.simulated == nullptr &&
        word_arrives_soon(context, request.word, request.at_least)) {
        return;
    }
    rank_context& caller = *current_context;
    if (request.reason != machine::wait_reason::collective ||
        caller.own.deadline_ns == machine::no_deadline) [[likely]] {
        await(caller, request);
        return;
    }
    machine::wait_request bounded = request;
    bounded.deadline_ns = caller.own.deadline_ns;
    if (!await(caller, bounded)) end_collective_wait(caller);
}

/// Lets whoever shares the caller's thread run.
inline void let_others_run(rank_context& context) {
    shared_word never{0, 0, 0};
    constexpr std::int64_t at_once = 0;
    context.clock->wait(context, {.word = never,
                                  .at_least = 1,
                                  .reason = machine::wait_reason::message,
                                  .deadline_ns = at_once});
}

/// Handlers that others have waited for have returned, also on other threads: they still look for
/// sleepers when those go on already.
inline void let_handlers_return(rank_context& context) {
    while (!context.has_one_thread && context.transport->is_served(context))
        let_others_run(context);
}

/// Serves what has come, once. Where other ranks share the thread it is their turn then, so that a
/// loop of looks does not keep them from what it looks for.
inline bool make_progress(rank_context& context) {
    const bool has_served = context.transport->poll(context);
    run_completions(context);
    if (context.group_size > 1 && !context.own.in_handler) let_others_run(context);
    return has_served;
}

/// Serves what has come. Who looks often sees by himself, where he can, whether anything has.
/// @pre not in a handler
inline bool poll_soon(rank_context& context) {
    if (context.signs == nullptr) return context.transport->poll(context);
    for (machine::mail_sign* sign = context.signs; sign != context.signs_end; ++sign) {
        if (sign->has_come()) return context.transport->serve(context, *sign);
    }
    return false;
}

/// Looks at a word for a microsecond or two and serves messages meanwhile: an answer that is on its
/// way comes as one. Not where another thread may serve: it would be woken for nothing.
/// @param timeout_ns of the wait, negative: none. Handlers take their time, so with a limit what
/// comes first has to be the answer.
inline bool arrives_with_progress(rank_context& context, const shared_word& word,
                                  std::uint64_t at_least, std::int64_t timeout_ns) {
    const std::uint32_t polls = context.has_one_thread ? context.brief_polls : 0;
    for (std::uint32_t poll = 0; poll < polls; ++poll) {
        if (word_load(word) >= at_least) return true;
        if (!poll_soon(context)) {
            rest_after_look(poll);
            continue;
        }
        if (timeout_ns < 0) {
            run_completions(context);
            continue;
        }
        run_completions_in_time(context, timeout_ns);
        return word_load(word) >= at_least;
    }
    return false;
}

}  // namespace selion::detail
