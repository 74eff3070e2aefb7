// SPDX-License-Identifier: Apache-2.0
#include "selion/counter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "machine/call_record.hpp"
#include "machine/extended_wait.hpp"
#include "machine/machine.hpp"
#include "machine/simulated_memory.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/caller.hpp"
#include "selion/error.hpp"
#include "selion/expect.hpp"

namespace selion::detail {
namespace {

/// A death that ends the wait is told here, so the counters need not wait for what it has ended.
bool await_counters(rank_context& context, const machine::wait_request& request,
                    std::span<counter* const> which) {
    try {
        return await(context, request);
    } catch (const error& trouble) {
        if (trouble.code() == status::rank_dead) onesided::count_lost_of(context, which);
        throw;
    }
}

void expect_count(std::uint64_t count, const char* call, std::source_location site) {
    SELION_EXPECT_AT(count <= counter::most_counted, site,
                     fmt::format("{}: a counter counts up to {}, so it never reaches {} (is that a "
                                 "negative number?)",
                                 call, counter::most_counted, count));
}

}  // namespace

void expect_counters(std::span<counter* const> which, const char* call, std::source_location site) {
    const auto null = std::ranges::find(which, nullptr) - which.begin();
    SELION_EXPECT_AT(
        static_cast<std::size_t>(null) == which.size(), site,
        fmt::format("{}: pointer {} of {} to a counter is null", call, null, which.size()));
}

void claim_counter(rank_context& context, counter& which, std::source_location site) {
    std::uint32_t& owner = counter_access::word(which).note;
    if (owner == context.job) return;
    SELION_EXPECT_AT(owner == 0, site,
                     fmt::format("the counter was used in job {} of this process, which has "
                                 "finished; this is job {}: make a new counter for each job",
                                 owner, context.job));
    owner = context.job;
}

void count_together(rank_context& context, shared_word& word) {
    if (context.has_one_thread && !context.spends_time) {
        word_add_quietly(word, 1);  // whoever waits for it is this thread
    } else {
        context.clock->count(context, word);
    }
}

bool wait_counter(counter& which, std::uint64_t count, std::int64_t timeout_ns,
                  std::source_location site) {
    rank_context& context = context_of_caller(site);
    expect_may_wait(context, "wait of a counter", site);
    expect_count(count, "wait", site);
    claim_counter(context, which, site);
    if (arrives_with_progress(context, counter_access::word(which), goal_of(which, count),
                              timeout_ns) &&
        counter_access::take(which, count)) {
        return true;
    }
    counter* const only = &which;
    return wait_any_counter({&only, 1}, count, timeout_ns, site) == 0;
}

std::size_t wait_any_counter(std::span<counter* const> which, std::uint64_t count,
                             std::int64_t timeout_ns, std::source_location site) {
    SELION_EXPECT_AT(!which.empty(), site, std::string("wait_any: there are no counters"));
    rank_context& context = context_of_caller(site);
    expect_may_wait(context, "wait_any", site);
    expect_count(count, "wait_any", site);
    expect_counters(which, "wait_any", site);
    for (counter* one : which) claim_counter(context, *one, site);
    const auto find = [&] {
        return static_cast<std::size_t>(
            std::ranges::find_if(which,
                                 [&](counter* one) { return counter_access::take(*one, count); }) -
            which.begin());
    };
    std::size_t found = find();
    if (found != which.size()) return found;
    const machine::call_scope scope(context, machine::operation::wait_counter, site);
    const std::int64_t deadline_ns = deadline_after(context, timeout_ns);
    machine::awaited_words room(which.size() - 1);
    const std::span others = room.all();
    do {
        // A completion handler may have waited for the same ones meanwhile.
        for (std::size_t i = 1; i < which.size(); ++i) {
            others[i - 1] = {&counter_access::word(*which[i]), goal_of(*which[i], count)};
        }
        const machine::wait_request request{counter_access::word(*which.front()),
                                            goal_of(*which.front(), count),
                                            machine::wait_reason::counter, deadline_ns, others};
        if (!await_counters(context, request, which)) return which.size();
        found = find();
    } while (found == which.size());
    return found;
}

bool test_counter(counter& which, std::uint64_t count, std::source_location site) {
    counter* const only = &which;
    rank_context& context = context_of_caller(site);
    expect_count(count, "test", site);
    claim_counter(context, *only, site);
    make_progress(context);
    if (counter_access::take(which, count)) return true;
    try {
        onesided::expect_told_acknowledged(context, "test");
    } catch (const error&) {
        onesided::count_lost_of(context, {&only, 1});
        throw;
    }
    return false;
}

void drain_counter(counter& which, std::uint64_t count, std::source_location site) noexcept {
    rank_context& context = context_of_caller(site);
    counter* const only = &which;
    const machine::call_scope scope(context, machine::operation::wait_counter, site);
    while (true) {
        const machine::awaited_word death{&context.deaths->word(), context.deaths->told() + 1};
        onesided::count_lost_of(context, {&only, 1});
        if (counter_access::take(which, count)) return;
        await(context, {.word = counter_access::word(which),
                        .at_least = goal_of(which, count),
                        .reason = machine::wait_reason::message,
                        .others = {&death, 1}});
    }
}

void wait_for_last(counter& which, std::uint64_t count, std::source_location site) {
    try {
        which.wait(count, site);
    } catch (const error&) {
        if (context_of_caller(site).deaths != nullptr) drain_counter(which, count, site);
        throw;
    }
}

}  // namespace selion::detail
