// SPDX-License-Identifier: Apache-2.0
#include "selion/message.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/exception_text.hpp"
#include "machine/machine.hpp"
#include "onesided/deaths.hpp"
#include "onesided/message_parts.hpp"
#include "onesided/operation_meter.hpp"
#include "onesided/release_observers.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/caller.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/expect.hpp"
#include "selion/rpc.hpp"

namespace selion::detail {
namespace {

constexpr std::size_t data_alignment = 16;

/// What the program calls it: whoever waits for a result has asked for an rpc.
const char* name_of(const outgoing& message) {
    if (message.state != 0) return "rpc";
    return message.is_call ? "rpc_oneway" : "send";
}

/// @param call that sends it.
void expect_target(const rank_context& context, std::uint32_t target, const char* call,
                   std::source_location site) {
    SELION_EXPECT_AT(
        target < context.ranks, site,
        fmt::format("{}: there is no rank {}; ranks are 0 to {}", call, target, context.ranks - 1));
}

/// Of what may be as long as the data of a user.
[[noreturn]] void throw_too_long(const rank_context& context, std::uint32_t peer, const char* call,
                                 std::size_t bytes, const std::string& sentence) {
    throw error(status::bad_argument, sentence,
                {.rank = context.rank, .peer = peer, .operation = call, .bytes = bytes});
}

/// @error status::bad_argument
void expect_size(const rank_context& context, const outgoing& message, std::size_t bytes) {
    const std::uint64_t most = context.transport->most_message_bytes();
    if (bytes <= most) return;
    const char* const call = name_of(message);
    throw_too_long(
        context, message.target, call, bytes,
        fmt::format("{}: a message of {} bytes is too long; at most {} are possible. Set "
                    "SELION_MESSAGE_MEMORY to more than twice the size, or put the data in the "
                    "global address space and pass {}",
                    call, bytes, most,
                    std::string_view(call) == "send"
                        ? fmt::format("an origin counter, with a header of at most {} bytes",
                                      short_header_bytes)
                        : std::string("their global_ptr")));
}

/// @error status::bad_argument: for whoever has called.
void expect_size_of_result(const rank_context& context, std::uint32_t origin, std::size_t bytes) {
    const std::uint64_t most = context.transport->most_message_bytes();
    if (bytes <= most) return;
    throw_too_long(context, origin, "rpc", bytes,
                   fmt::format("the function's result has {} bytes; at most {} are possible: set "
                               "SELION_MESSAGE_MEMORY to more than twice the size, or have the "
                               "function put the data in the global address space",
                               bytes, most));
}

void expect_counter(std::uint64_t bits, std::uint32_t target, std::source_location site) {
    expect_range(bits, sizeof(counter), alignof(counter), site);
    SELION_EXPECT_AT(rank_of(bits) == target, site,
                     fmt::format("send: the target counter belongs to rank {}, the message goes to "
                                 "rank {}",
                                 rank_of(bits), target));
}

/// Data and arguments that do not fit beside them, in one piece.
std::vector<std::byte> with_long_arguments(const outgoing& message) {
    const std::size_t arguments = message.arguments.size();
    const std::uint64_t start = (sizeof(std::uint64_t) * 2 + arguments + data_alignment - 1) /
                                data_alignment * data_alignment;
    std::vector<std::byte> all(start + message.bytes);
    const std::uint64_t head[2] = {arguments, start};
    std::memcpy(all.data(), head, sizeof head);
    std::memcpy(all.data() + sizeof head, message.arguments.data(), arguments);
    if (message.bytes != 0) std::memcpy(all.data() + start, message.data, message.bytes);
    return all;
}

/// What the target of a message owes for it, where ranks may die before they have paid.
class expected_answers {
public:
    expected_answers(rank_context& context, const outgoing& message, bool lends_data)
        : context_(context), target_(message.target) {
        if (context.deaths == nullptr) return;
        if (lends_data) expect({.counted = message.when.origin});
        if (message.when.completion != nullptr) expect({.counted = message.when.completion});
        if (message.state != 0) {
            expect({.result = reinterpret_cast<future_state*>(message.state)});
        }
    }
    /// It could not be sent: of a call that throws nothing is counted, not even later.
    void forget() {
        if (context_.deaths == nullptr) return;
        for (std::size_t i = 0; i < count_; ++i) context_.deaths->forget(target_, expected_[i]);
    }
    /// Once it is sent: the target may have died before it was expected to answer.
    void look_whether_it_lives() {
        if (context_.deaths != nullptr && context_.deaths->is_dead(target_)) {
            onesided::lose_answers(context_, target_);
        }
    }

private:
    void expect(const machine::awaited_answer& what) {
        expected_[count_++] = what;
        context_.deaths->expect(target_, what);
    }

    rank_context& context_;
    std::uint32_t target_;
    std::array<machine::awaited_answer, 3> expected_{};
    std::size_t count_ = 0;
};

/// Nobody fulfils the future of a call that has not been sent: it counts as done, so that its state
/// is free again when the future is gone.
void give_up_future(const outgoing& message) {
    if (message.state != 0) fulfil(*reinterpret_cast<future_state*>(message.state));
}

/// Whether a message must not be sent: its target is dead, and it is a handler that sends it.
bool leaves_out_message(rank_context& context, const outgoing& message) {
    if (!onesided::leaves_out(context, message.target, name_of(message), message.bytes))
        return false;
    expected_answers(context, message, message.when.origin != nullptr).look_whether_it_lives();
    return true;
}

/// For short messages, which do not carry it. Most are sent where the last one was: then nothing is
/// stored, since a sender's stores are what its next message waits for.
[[gnu::always_inline]] inline void note_site(rank_context& context, std::source_location site) {
    const auto bits = [](std::source_location of) { return std::bit_cast<std::uintptr_t>(of); };
    if (bits(context.own.send_site) != bits(site)) context.own.send_site = site;
}

}  // namespace

void send_reply(rank_context& context, std::uint32_t origin, std::uint16_t kind,
                const argument_writer& arguments, std::span<const std::byte> data) {
    const std::span<const std::byte> words = arguments.bytes();
    if (context.short_ways != nullptr && data.empty() &&
        words.size() <= 2 * sizeof(std::uint64_t)) {
        // It may wait for room, and a report must not name the last message then.
        if (!context.own.in_handler) note_site(context, {});
        std::uint64_t both[2] = {};
        std::memcpy(both, words.data(), words.size());
        machine::short_way& way = context.short_ways[origin];
        return way.reply(way, 0, both[0], both[1], machine::short_about(kind, words.size()),
                         context);
    }
    const machine::message_request request{.target = origin,
                                           .kind = kind,
                                           .is_reply = true,
                                           .handler = 0,
                                           .arguments = words,
                                           .data = data.data(),
                                           .bytes = data.size()};
    if (context.deaths == nullptr) [[likely]]
        return context.transport->send(context, request);
    if (context.deaths->is_dead(origin)) return context.deaths->drop();
    try {
        context.transport->send(context, request);
    } catch (const error& trouble) {
        // It has died while a completion handler waited for room: nobody would catch that.
        if (trouble.code() != status::rank_dead) throw;
        context.deaths->drop();
    }
}

std::uint64_t most_message_bytes() {
    rank_context& context = context_of_caller(std::source_location::current());
    return context.transport->most_message_bytes();
}

void expect_possible_result(std::size_t bytes, const call_target& target) {
    const rank_context& context = context_of_caller(target.site);
    const std::uint64_t most = context.transport->most_message_bytes();
    if (bytes <= most) return;
    throw_too_long(context, target.rank, "rpc", bytes,
                   fmt::format("rpc: a result of {} bytes is too long; at most {} are possible. "
                               "Set SELION_MESSAGE_MEMORY to more than twice the size, or have the "
                               "function put the data in the global address space",
                               bytes, most));
}

void send_plain_message(std::uint32_t target, std::uint64_t function, const std::byte* arguments,
                        std::size_t bytes, std::source_location site) {
    rank_context& context = context_of_caller(site);
    if (context.recorder != nullptr || context.own.announces_writes) [[unlikely]] {
        return send_any_message(
            {.target = target, .function = function, .arguments = {arguments, bytes}}, site);
    }
    expect_target(context, target, "send", site);
    if (onesided::leaves_out(context, target, "send", bytes)) return;
    note_site(context, site);
    context.transport->send_plain(context, target, function, arguments, bytes);
}

namespace {

/// Whether a message to a rank is nothing but sent: nobody records it or what it releases, no death
/// may end it, and there is such a rank. There is none for who has called outside of a job.
bool needs_only_sending(const rank_context& context, std::uint32_t target) {
    return context.recorder == nullptr && !context.own.announces_writes &&
           context.deaths == nullptr && target < context.ranks;
}

[[gnu::noinline]] void send_accounted_words(std::uint32_t target, std::uint64_t function,
                                            std::uint64_t first, std::uint64_t second,
                                            std::size_t bytes, std::source_location site) {
    const std::array words{first, second};
    send_plain_message(target, function, std::as_bytes(std::span(words)).data(), bytes, site);
}

[[gnu::noinline]] void send_accounted_call(std::uint32_t target, std::uint64_t function,
                                           std::uint64_t state, std::uint64_t argument,
                                           std::size_t bytes, std::source_location site) {
    rank_context& context = *current_context;
    if (needs_only_sending(context, target)) {
        note_site(context, site);
        return context.transport->send_short(
            context, target, false, function, state, argument,
            machine::short_about(future_of_result, sizeof state + bytes));
    }
    send_any_message({.target = target,
                      .function = function,
                      .arguments = std::as_bytes(std::span(&argument, 1)).first(bytes),
                      .state = state},
                     site);
}

}  // namespace

void send_words(std::uint32_t target, std::uint64_t function, std::uint64_t first,
                std::uint64_t second, std::size_t bytes, std::source_location site) {
    rank_context& context = *current_context;
    if (target >= context.own.signal_count || context.short_ways == nullptr) [[unlikely]]
        return send_accounted_words(target, function, first, second, bytes, site);
    note_site(context, site);
    machine::short_way& way = context.short_ways[target];
    way.send(way, function, first, second, machine::short_about(0, bytes), context);
}

void send_call_word(std::uint32_t target, std::uint64_t function, std::uint64_t state,
                    std::uint64_t argument, std::size_t bytes, std::source_location site) {
    rank_context& context = *current_context;
    if (target >= context.own.signal_count || context.short_ways == nullptr) [[unlikely]]
        return send_accounted_call(target, function, state, argument, bytes, site);
    note_site(context, site);
    machine::short_way& way = context.short_ways[target];
    way.send(way, function, state, argument,
             machine::short_about(future_of_result, sizeof state + bytes), context);
}

/// Whether it goes beside the counters of a message whose data are lent.
bool has_short_header(const outgoing& message) {
    const counters& when = message.when;
    const std::size_t words = 1 + (when.target ? 1 : 0) + (when.completion != nullptr ? 1 : 0) +
                              (message.state != 0 ? 1 : 0);
    return message.arguments.size() + words * sizeof(std::uint64_t) <= most_argument_bytes;
}

/// What is nothing but a function and its arguments, and perhaps a future.
bool is_bare(const outgoing& message) {
    return message.bytes == 0 && message.when.are_none() &&
           message.arguments.size() + sizeof message.state <= most_argument_bytes;
}

/// @pre `is_bare`, `needs_only_sending`
void send_bare_message(rank_context& context, const outgoing& message, std::source_location site) {
    argument_writer arguments;
    if (message.state != 0) arguments.add(message.state);
    arguments.add(message.arguments.data(), message.arguments.size());
    try {
        context.transport->send(
            context, {.target = message.target,
                      .kind = static_cast<std::uint16_t>(message.state != 0 ? future_of_result : 0),
                      .handler = message.function,
                      .arguments = arguments.bytes(),
                      .site = site});
    } catch (...) {
        give_up_future(message);
        throw;
    }
}

void send_any_message(const outgoing& message, std::source_location site) {
    rank_context& context = context_of_caller(site);
    if (is_bare(message) && needs_only_sending(context, message.target)) {
        return send_bare_message(context, message, site);
    }
    expect_target(context, message.target, name_of(message), site);
    const counters& when = message.when;
    if (when.target) expect_counter(when.target.bits(), message.target, site);
    if (when.completion != nullptr) claim_counter(context, *when.completion, site);
    if (leaves_out_message(context, message)) return;
    const operation_meter meter(context, name_of(message), message.bytes, site, message.target);
    release_writes(context, site);
    machine::message_request request{.target = message.target,
                                     .kind = 0,
                                     .handler = message.function,
                                     .arguments = {},
                                     .data = message.data,
                                     .bytes = message.bytes,
                                     .site = site};
    // A long header goes with the data, which are copied then.
    request.lends_data =
        when.origin != nullptr && message.bytes != 0 && has_short_header(message) &&
        context.transport->can_lend(context, message.target, message.data, message.bytes);
    argument_writer arguments;
    const auto add_word = [&](message_part part, std::uint64_t word) {
        request.kind |= part;
        arguments.add(word);
    };
    if (request.lends_data) {
        claim_counter(context, *when.origin, site);
        add_word(origin_counter, reinterpret_cast<std::uint64_t>(when.origin));
    }
    if (when.target) add_word(target_counter, when.target.bits());
    if (when.completion != nullptr) {
        add_word(completion, reinterpret_cast<std::uint64_t>(when.completion));
    }
    if (message.state != 0) add_word(future_of_result, message.state);
    std::vector<std::byte> joined;
    if (message.arguments.size() <= arguments.free_bytes()) {
        arguments.add(message.arguments.data(), message.arguments.size());
        request.arguments = arguments.bytes();
    } else {
        joined = with_long_arguments(message);
        request.kind |= long_arguments;
        request.data = joined.data();
        request.bytes = joined.size();
        request.arguments = arguments.bytes();
    }
    expected_answers answers(context, message, request.lends_data);
    try {
        if (!request.lends_data) expect_size(context, message, request.bytes);
        context.transport->send(context, request);
    } catch (...) {
        answers.forget();
        give_up_future(message);
        throw;
    }
    answers.look_whether_it_lives();
    if (!request.lends_data) count_here(context, when.origin, site);
}

void end_for_unknown_function(std::uint64_t code) {
    end_job_for_bug(fmt::format("a message names the function {:#x}, which this process does not "
                                "have: all ranks must run the same program and load the same "
                                "libraries",
                                code),
                    std::source_location::current());
}

void reply_with_word(std::uint32_t origin, std::uint64_t state, std::uint64_t word,
                     std::size_t bytes) {
    rank_context& context = *current_context;
    if (context.deaths != nullptr) [[unlikely]]
        return reply_with(origin, state, &word, bytes);
    // Outside of handlers it may wait for room, and a report must not name the last message then.
    if (!context.own.in_handler) note_site(context, {});
    const auto about = machine::short_about(value_reply, sizeof state + in_whole_words(bytes));
    if (context.short_ways == nullptr) [[unlikely]] {
        return context.transport->send_short(context, origin, true, 0, state, word, about);
    }
    machine::short_way& way = context.short_ways[origin];
    way.reply(way, 0, state, word, about, context);
}

void reply_with(std::uint32_t origin, std::uint64_t state, const void* value, std::size_t bytes) {
    rank_context& context = *current_context;
    argument_writer arguments;
    arguments.add(state);
    if (bytes <= arguments.free_bytes()) {
        arguments.add(value, bytes);
        return send_reply(context, origin, value_reply, arguments);
    }
    expect_size_of_result(context, origin, bytes);
    send_reply(context, origin, value_reply, arguments,
               {static_cast<const std::byte*>(value), bytes});
}

void reply_with_row(std::uint32_t origin, std::uint64_t state, const void* data,
                    std::size_t bytes) {
    rank_context& context = *current_context;
    expect_size_of_result(context, origin, bytes);
    argument_writer arguments;
    arguments.add(state);
    send_reply(context, origin, value_reply, arguments,
               {static_cast<const std::byte*>(data), bytes});
}

void reply_with_exception(std::uint32_t origin, std::uint64_t state) noexcept {
    const std::string type = base::type_name_of_current_exception();
    const std::string text = base::text_of_current_exception();
    rank_context& context = *current_context;
    if (state == 0) {
        context.host->launcher().end_job(
            context, fmt::format("rank {} of {}: a call that rank {} had sent without waiting for "
                                 "an answer ended with an exception of type {}: {}; the job ends",
                                 context.rank, context.ranks, origin, type, text));
    }
    argument_writer arguments;
    arguments.add(state);
    const std::size_t most =
        std::min<std::size_t>(context.transport->most_message_bytes() - type.size() - 1, 64 * 1024);
    const std::string both = type + '\0' + text.substr(0, most);
    send_reply(context, origin, error_reply, arguments, std::as_bytes(std::span(both)));
}

}  // namespace selion::detail

namespace selion {

bool progress(std::source_location site) {
    detail::rank_context& context = detail::context_of_caller(site);
    return detail::make_progress(context);
}

}  // namespace selion
