// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>

#include "machine/call_record.hpp"
#include "machine/extended_wait.hpp"
#include "machine/machine.hpp"
#include "onesided/deaths.hpp"
#include "onesided/waiting.hpp"
#include "selion/addresses.hpp"
#include "selion/detail/caller.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/detail/word_access.hpp"
#include "selion/expect.hpp"
#include "selion/signal.hpp"

namespace selion::detail {
namespace {

shared_word& own_word(rank_context& context, std::uint64_t signal, std::source_location site) {
    expect_range(signal, sizeof(shared_word), alignof(shared_word), site);
    const auto rank = rank_of(signal);
    SELION_EXPECT_AT(rank == context.rank, site,
                     fmt::format("the signal belongs to rank {}; a rank waits only for signals in "
                                 "its own memory, and reads only those",
                                 rank));
    return *reinterpret_cast<shared_word*>(mapped_address(context, signal));
}

bool has_come(const machine::awaited_word& one) { return word_load(*one.word) >= one.at_least; }

/// @return the number of words if none is where it should be.
std::size_t first_come(std::span<const machine::awaited_word> words) {
    return static_cast<std::size_t>(std::ranges::find_if(words, has_come) - words.begin());
}

/// Looks for a microsecond or two, as `word_arrives_soon` does.
std::size_t first_to_come_soon(const rank_context& context,
                               std::span<const machine::awaited_word> words) {
    std::size_t first = first_come(words);
    for (std::uint32_t look = 0; look < context.brief_looks && first == words.size(); ++look) {
        pause_processor();
        first = first_come(words);
    }
    return first;
}

}  // namespace

void expect_own_signal(std::uint64_t signal, std::source_location site) {
    static_cast<void>(own_word(context_of_caller(site), signal, site));
}

void wait_signal_slow(std::uint64_t signal, std::uint64_t at_least, std::source_location site) {
    rank_context& context = context_of_caller(site);
    expect_may_wait(context, "wait_until", site);
    shared_word& word = own_word(context, signal, site);
    const machine::call_scope scope(context, machine::operation::wait_signal, site);
    machine::note_awaited(scope.record(), signal, at_least);
    await(context, {word, at_least, machine::wait_reason::signal});
}

bool wait_signal_for(std::uint64_t signal, std::uint64_t at_least, std::int64_t timeout_ns,
                     std::source_location site) {
    rank_context& context = context_of_caller(site);
    shared_word& word = own_word(context, signal, site);
    if (word_load(word) >= at_least) return true;
    expect_may_wait(context, "wait_until", site);
    const machine::call_scope scope(context, machine::operation::wait_signal, site);
    machine::note_awaited(scope.record(), signal, at_least);
    return await(context, {word, at_least, machine::wait_reason::signal,
                           deadline_after(context, timeout_ns)});
}

std::size_t wait_any_signal(std::span<const awaited_signal> which, std::int64_t timeout_ns,
                            std::source_location site) {
    SELION_EXPECT_AT(!which.empty(), site, std::string("wait_any: there are no signals"));
    rank_context& context = context_of_caller(site);
    machine::awaited_words room(which.size());
    const std::span words = room.all();
    std::ranges::transform(which, words.begin(), [&](const awaited_signal& one) {
        return machine::awaited_word{&own_word(context, one.own.bits(), site), one.at_least};
    });
    std::size_t first = first_to_come_soon(context, words);
    if (first != words.size()) return first;
    expect_may_wait(context, "wait_any", site);
    const machine::call_scope scope(context, machine::operation::wait_any_signal, site);
    machine::note_awaited(scope.record(), which.front().own.bits(), which.front().at_least);
    const machine::wait_request request{*words.front().word, words.front().at_least,
                                        machine::wait_reason::signal,
                                        deadline_after(context, timeout_ns), words.subspan(1)};
    do {
        if (!await(context, request)) return words.size();
        first = first_come(words);
    } while (first == words.size());  // a program may lower one that had come
    return first;
}

bool test_signal(std::uint64_t signal, std::uint64_t at_least, std::source_location site) {
    rank_context& context = context_of_caller(site);
    const shared_word& word = own_word(context, signal, site);
    // Also of a test that succeeds at once: a script has noted the place for it already.
    const machine::call_scope scope(context, machine::operation::test_signal, site);
    machine::note_awaited(scope.record(), signal, at_least);
    if (word_load(word) >= at_least) return true;
    make_progress(context);
    if (word_load(word) >= at_least) return true;
    onesided::expect_told_acknowledged(context, "test");
    return false;
}

}  // namespace selion::detail
