// SPDX-License-Identifier: Apache-2.0
#include "lapi/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "machine/call_record.hpp"
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
void await_either(counter& which, std::uint64_t value, counter& other) {
    const auto site = std::source_location::current();
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
    lapi_handle_t handle = own.handle;
    next.function(&handle, next.argument);
    own.runs_completion = false;
    finish(next);
}

}  // namespace

task* find_task(lapi_handle_t handle) {
    detail::rank_context& context = detail::context_of_caller(std::source_location::current());
    task* const own = static_cast<task*>(place_of_task(context).get());
    return handle != 0 && own != nullptr && own->handle == handle ? own : nullptr;
}

task& task_of_handler() { return *static_cast<task*>(place_of_task(own_context()).get()); }

task& make_task() {
    detail::rank_context& context = detail::context_of_caller(std::source_location::current());
    std::shared_ptr<void>& place = place_of_task(context);
    if (place == nullptr) place = std::make_shared<task>();
    return *static_cast<task*>(place.get());
}

void expect_may_wait(const char* function) {
    SELION_EXPECT(!own_context().own.in_handler,
                  fmt::format("{} in a header handler, which must not wait: it runs while its task "
                              "serves messages. Call it in the completion handler",
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
        if (own.ripe_count.value() == 0) await_either(which, value, own.ripe_count);
        run_completions(own);
    }
    which.wait(value);
}

void run_completions(task& own) {
    if (own.runs_completion || own_context().own.in_handler) return;
    while (own.ripe_count.value() != 0) {
        own.ripe_count.wait(1);
        run_completion(own);
    }
}

void complete(task& own, const completion& what) {
    if (what.function == nullptr) return finish(what);
    if (own.handle == 0) {
        // The task makes no more LAPI calls in which it could run.
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
        lapi_handle_t handle = own.handle;
        return own.error_handler(&handle, &code, &kind, &number, &source);
    }
    std::array<char, LAPI_MAX_ERR_STRING> sentence{};
    LAPI_Msg_string(code, sentence.data());
    detail::end_job_for_bug(fmt::format("a message of LAPI from task {} cannot be handled: {}",
                                        source, sentence.data()),
                            std::source_location::current());
}

}  // namespace selion::lapi
