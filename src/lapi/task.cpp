// SPDX-License-Identifier: Apache-2.0
#include "lapi/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "machine/call_record.hpp"
#include "onesided/completion_queue.hpp"
#include "onesided/message_state.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/caller.hpp"
#include "selion/expect.hpp"

namespace selion::lapi {
namespace {

/// Larger ones are not faster, and the copies of smaller ones stay in the cache.
constexpr std::size_t largest_piece_bytes = 256 * 1024;

std::shared_ptr<void>& place_of_task(detail::rank_context& context) {
    return context.messages->kept_above;
}

/// Makes one of a rank that is none yet.
task& task_of(detail::rank_context& context) {
    std::shared_ptr<void>& place = place_of_task(context);
    if (place == nullptr) place = std::make_shared<task>();
    return *static_cast<task*>(place.get());
}

arrival count_one(const std::uint64_t& address, message_info) {
    count(reinterpret_cast<counter*>(address));
    return {};
}

void finish(const completion& done) {
    count(done.target_counter);
    if (done.completion_counter != nullptr) {
        count_at(done.origin, as_counter(done.completion_counter));
    }
}

/// Until one counter has a value, or the other counts at all.
void await_either(counter& which, std::uint64_t value, counter& other, std::source_location site) {
    detail::rank_context& context = own_context();
    detail::claim_counter(context, which, site);
    const machine::call_scope scope(context, machine::operation::wait_counter, site);
    const machine::awaited_word second{&counter_access::word(other), detail::goal_of(other, 1)};
    detail::await(context, {.word = counter_access::word(which),
                            .at_least = detail::goal_of(which, value),
                            .reason = machine::wait_reason::counter,
                            .others = {&second, 1}});
}

/// @pre there is one.
void run_completion(task& own) {
    const completion next = own.ripe.front();
    own.ripe.pop_front();
    own.runs_completion = true;
    const place_of_call outer(own);
    lapi_handle_t handle = own.handle;
    try {
        next.function(&handle, next.argument);
    } catch (...) {
        onesided::end_for_exception(own_context(), "completion handler", next.origin);
    }
    own.runs_completion = false;
    finish(next);
}

}  // namespace

task* find_task(lapi_handle_t handle) {
    detail::rank_context& context = detail::context_of_caller(std::source_location::current());
    task* const own = static_cast<task*>(place_of_task(context).get());
    if (own == nullptr) return nullptr;
    if (handle == 0 || own->handle != handle) {
        own->noted_site.reset();  // it was this call's
        return nullptr;
    }
    own->begin_call(std::source_location::current());
    return own;
}

task& task_of_handler() { return *static_cast<task*>(place_of_task(own_context()).get()); }

task& make_task() {
    task& own = task_of(detail::context_of_caller(std::source_location::current()));
    own.begin_call(std::source_location::current());
    return own;
}

void note_next_call(std::source_location site) {
    task_of(detail::context_of_caller(site)).noted_site = site;
}

void expect_may_wait(const task& own, const char* function) {
    SELION_EXPECT_AT(!own_context().own.in_handler, own.site,
                     fmt::format("{} in a header handler, which must not wait: it runs while its "
                                 "task serves messages. Call it in the completion handler",
                                 function));
}

void expect_no_handler(const task& own, const char* function) {
    expect_may_wait(own, function);
    SELION_EXPECT_AT(!own.runs_completion, own.site,
                     fmt::format("{} in a completion handler, which runs within another call of "
                                 "its task: call it outside of handlers",
                                 function));
}

void count(counter* which) {
    if (which != nullptr) detail::count_together(own_context(), counter_access::word(*which));
}

void count_at(std::uint32_t target, counter* which) {
    send(target, count_one, reinterpret_cast<std::uint64_t>(which));
}

void wait_for(task& own, counter& which, std::uint64_t value) {
    // Nothing is taken off before all is there: completion handlers may look at the counter.
    while (!own.runs_completion && which.value() < static_cast<std::int64_t>(value)) {
        if (own.ripe_count.value() == 0) await_either(which, value, own.ripe_count, own.site);
        run_completions(own);
    }
    which.wait(value, own.site);
}

void await_turn_to_ask(task& own) {
    constexpr std::uint64_t most = 16;  // pieces, which are 4 MiB at most
    while (own.pieces_asked >= most && !own_context().own.in_handler) {
        wait_for(own, own.pieces_come, most / 2);
        own.pieces_asked -= most / 2;
    }
    ++own.pieces_asked;
}

void note_piece() { count(&task_of_handler().pieces_come); }

void run_completions(task& own) {
    if (own.runs_completion || own_context().own.in_handler) return;
    for (std::int64_t left = own.ripe_count.value(); left != 0; --left) {
        own.ripe_count.wait(1);
        run_completion(own);
    }
}

void complete(task& own, const completion& what) {
    if (what.function == nullptr) return finish(what);
    if (own.handle == 0) {
        // The task makes no more LAPI calls in which it could run.
        const place_of_call outer(own);
        what.function(&own.last_handle, what.argument);
        return finish(what);
    }
    own.ripe.push_back(what);
    count(&own.ripe_count);
}

std::size_t piece_bytes() {
    // Headers and lists of pieces travel with the data.
    return std::min<std::size_t>(largest_piece_bytes, detail::most_message_bytes() / 4);
}

void report(task& own, int code, lapi_err_t kind, std::uint32_t origin) {
    int number = static_cast<int>(own_context().rank);
    int source = static_cast<int>(origin);
    if (own.error_handler != nullptr) {
        const place_of_call outer(own);
        lapi_handle_t handle = own.last_handle;
        return own.error_handler(&handle, &code, &kind, &number, &source);
    }
    std::array<char, LAPI_MAX_ERR_STRING> sentence{};
    LAPI_Msg_string(code, sentence.data());
    detail::end_job_for_bug(fmt::format("a message of LAPI from task {} cannot be handled: {}",
                                        source, sentence.data()),
                            own.site);
}

}  // namespace selion::lapi

void selion_lapi_note_place(const selion_lapi_place* place) {
    // Both are a pointer to a file's name, a function's, line and column.
    static_assert(sizeof(std::source_location) == sizeof place);
    selion::lapi::note_next_call(std::bit_cast<std::source_location>(place));
}
