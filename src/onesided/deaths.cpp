// SPDX-License-Identifier: Apache-2.0
#include "onesided/deaths.hpp"

#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "machine/call_record.hpp"
#include "machine/extended_wait.hpp"
#include "onesided/as_handler.hpp"
#include "onesided/message_state.hpp"
#include "onesided/waiting.hpp"
#include "selion/counter.hpp"
#include "selion/detail/owed_value.hpp"
#include "selion/detail/rank_death.hpp"
#include "selion/error.hpp"
#include "selion/future.hpp"

namespace selion::onesided {
namespace {

std::string_view call_of(const detail::rank_context& caller) {
    return name_of(static_cast<machine::operation>(machine::look_at(caller.call->what)));
}

std::uint64_t acknowledged_by(const detail::rank_context& caller) {
    return caller.messages->acknowledged_deaths.load(std::memory_order_relaxed);
}

/// Of the first deaths, so many.
void count_lost(detail::rank_context& caller, std::uint64_t number) {
    for (counter* const one : caller.deaths->take_lost(number)) {
        detail::count_together(caller, counter_access::word(*one));
    }
}

/// The death that ends a wait of that kind, if one does.
std::optional<std::uint32_t> death_that_ends(const detail::rank_context& caller,
                                             machine::wait_reason reason) {
    const machine::death_list& deaths = *caller.deaths;
    const std::uint64_t told = deaths.told();
    if (told == 0) return std::nullopt;
    switch (reason) {
        case machine::wait_reason::signal:
        case machine::wait_reason::counter: {
            const std::uint64_t acknowledged = acknowledged_by(caller);
            if (acknowledged >= told) return std::nullopt;
            return deaths.told_rank(acknowledged);
        }
        case machine::wait_reason::collective:
            if (caller.own.needs == nullptr) return deaths.told_rank(0);
            if (const auto dead = caller.own.needs->first_dead(deaths)) return dead;
            // Who has thrown for a death elsewhere waits for the caller in `survivors`.
            if (caller.own.needs->have_left(deaths)) return deaths.told_rank(told - 1);
            return std::nullopt;
        default: return std::nullopt;
    }
}

}  // namespace

void throw_rank_dead(const detail::rank_context& caller, std::uint32_t dead,
                     std::string_view operation, std::size_t bytes) {
    machine::throw_death_of(caller, dead, operation, bytes);
}

void expect_alive(const detail::rank_context& caller, const needed_ranks& all,
                  std::string_view operation) {
    if (caller.deaths == nullptr || caller.deaths->declared() == 0) return;
    if (const auto dead = all.first_dead(*caller.deaths)) {
        throw_rank_dead(caller, *dead, operation);
    }
}

bool leaves_out_dead(detail::rank_context& caller, std::uint32_t rank, std::string_view operation,
                     std::size_t bytes) {
    machine::take_the_long_way();
    if (!caller.deaths->is_dead(rank)) return false;
    if (!caller.own.in_handler) throw_rank_dead(caller, rank, operation, bytes);
    caller.deaths->drop();
    return true;
}

void expect_acknowledged(const detail::rank_context& caller, std::string_view operation) {
    if (caller.deaths == nullptr || caller.own.in_handler) return;
    const std::uint64_t acknowledged = acknowledged_by(caller);
    if (acknowledged >= caller.deaths->declared()) return;
    throw_rank_dead(caller, caller.deaths->all_declared()[acknowledged], operation);
}

void expect_told_acknowledged(const detail::rank_context& caller, std::string_view operation) {
    if (caller.deaths == nullptr || caller.own.in_handler) return;
    const std::uint64_t acknowledged = acknowledged_by(caller);
    if (acknowledged >= caller.deaths->told()) return;
    throw_rank_dead(caller, caller.deaths->told_rank(acknowledged), operation);
}

bool await_among_mortals(detail::rank_context& caller, const machine::wait_request& request) {
    machine::death_list& deaths = *caller.deaths;
    completion_queue& completions = caller.messages->completions;
    machine::extended_wait until_death(request);
    for (std::uint64_t told = deaths.told();; told = deaths.told()) {
        if (told != 0) machine::take_the_long_way();
        if (request.has_arrived()) return true;
        if (told != 0) {
            completion_queue::move_above(caller);  // what a floor above has may end by it
            // Of what handlers have begun since then nobody would hear any more.
            if (acknowledged_by(caller) == told) count_lost(caller, told);
            if (request.has_arrived()) return true;
        }
        const machine::awaited_word call{&deaths.calls(), detail::word_load(deaths.calls()) + 1};
        if (const auto dead = death_that_ends(caller, request.reason)) {
            throw_rank_dead(caller, *dead, call_of(caller));
        }
        machine::extended_wait or_call(until_death.until_also({&deaths.word(), told + 1}));
        const bool is_early = completions.await(caller, or_call.until_also(call));
        if (request.has_arrived()) return true;
        if (!is_early) return false;
    }
}

void lose_answers(detail::rank_context& context, std::uint32_t rank) {
    machine::death_list& deaths = *context.deaths;
    for (const machine::awaited_answer& one : deaths.take_expected(rank)) {
        deaths.lose(rank, one.counted);
        if (one.result == nullptr) continue;
        one.result->trouble = std::make_exception_ptr(machine::death_of(context, rank, "rpc"));
        fulfil_as_handler(*one.result);
    }
}

void count_lost_of(detail::rank_context& caller, std::span<counter* const> which) {
    if (caller.deaths == nullptr) return;
    for (counter* const one : which) {
        for (std::uint64_t lost = caller.deaths->take_lost_of(*one); lost != 0; --lost) {
            detail::count_together(caller, counter_access::word(*one));
        }
    }
}

void acknowledge_deaths(detail::rank_context& caller, std::uint64_t number) {
    // Whoever serves tells.
    while (caller.deaths->told() < number) {
        if (!caller.transport->poll(caller)) detail::let_others_run(caller);
    }
    if (number > acknowledged_by(caller)) {
        caller.messages->acknowledged_deaths.store(number, std::memory_order_relaxed);
    }
    if (number != 0) machine::take_the_long_way();
    count_lost(caller, number);
}

std::vector<std::uint32_t> acknowledge_deaths(detail::rank_context& caller) {
    if (caller.deaths == nullptr) return {};
    std::vector<std::uint32_t> all = caller.deaths->all_declared();
    acknowledge_deaths(caller, all.size());
    return all;
}

}  // namespace selion::onesided

namespace selion::detail {

bool is_dead(std::uint32_t rank) {
    const rank_context& context = *current_context;
    return context.deaths != nullptr && context.deaths->is_dead(rank);
}

std::uint32_t count_of_deaths() {
    const rank_context& context = *current_context;
    return context.deaths == nullptr ? 0 : context.deaths->declared();
}

void expect_value(std::uint32_t rank, future_state& state) {
    rank_context& context = *current_context;
    if (context.deaths == nullptr) return;
    context.deaths->expect(rank, {.result = &state});
    // It may have died before, and what it owed has been settled.
    if (context.deaths->is_dead(rank)) onesided::lose_answers(context, rank);
}

bool settle_value(std::uint32_t rank, future_state& state) {
    const rank_context& context = *current_context;
    return context.deaths == nullptr || context.deaths->settle(rank, {.result = &state});
}

}  // namespace selion::detail
