// SPDX-License-Identifier: Apache-2.0
#include "selion/message.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/exception_text.hpp"
#include "machine/machine.hpp"
#include "onesided/deaths.hpp"
#include "onesided/global_address.hpp"
#include "onesided/message_state.hpp"
#include "onesided/operation_meter.hpp"
#include "onesided/release_observers.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/caller.hpp"
#include "selion/expect.hpp"
#include "selion/rpc.hpp"

/// Messages in the words of the machine: which of these a message has is its kind; those that are
/// words stand in front of its arguments, in this order.
namespace selion::detail {
namespace {

enum message_part : std::uint16_t {
    origin_counter = 1,    ///< address at the origin, of a message whose data are lent
    target_counter = 2,    ///< global address
    completion = 4,        ///< address of a counter at the origin
    future_of_result = 8,  ///< address of a state at the origin
    long_arguments = 16,   ///< they stand in front of the data
    // Replies:
    count_reply = 32,  ///< counters count
    value_reply = 64,  ///< a future has its value
    error_reply = 128,
};

/// Words, and then what else fits, filled up to whole words.
class argument_writer {
public:
    void add(std::uint64_t word) { add(&word, sizeof word); }
    void add(const void* from, std::size_t bytes) {
        if (bytes != 0) std::memcpy(bytes_.data() + used_, from, bytes);
        used_ += in_whole_words(bytes);
    }
    std::size_t free_bytes() const { return bytes_.size() - used_; }
    std::span<const std::byte> bytes() const { return {bytes_.data(), used_}; }

private:
    std::array<std::byte, most_argument_bytes> bytes_;
    std::size_t used_ = 0;
};

class argument_reader {
public:
    explicit argument_reader(std::span<const std::byte> bytes) : rest_(bytes) {}
    std::uint64_t word() {
        std::uint64_t value = 0;
        std::memcpy(&value, rest_.data(), sizeof value);
        rest_ = rest_.subspan(sizeof value);
        return value;
    }
    std::uint64_t word_if(bool is_there) { return is_there ? word() : 0; }
    std::span<const std::byte> rest() const { return rest_; }

private:
    std::span<const std::byte> rest_;
};

constexpr std::size_t data_alignment = 16;

counter* counter_at(std::uint64_t address) { return reinterpret_cast<counter*>(address); }

/// Where the wanted ones are, they count once more.
void count_if_wanted(rank_context& context, std::uint64_t address) {
    if (address != 0) count_together(context, counter_access::word(*counter_at(address)));
}

void count_at_target(rank_context& context, std::uint64_t bits) {
    if (bits == null_address) return;
    auto& counted = *reinterpret_cast<counter*>(mapped_address(context, bits));
    count_together(context, counter_access::word(counted));
}

/// A function of the program that a message from `origin` calls must let no exception out.
[[noreturn]] void end_for_exception(rank_context& context, std::string_view which,
                                    std::uint32_t origin) {
    context.host->launcher().end_job(
        context,
        fmt::format("rank {} of {}: a {} of a message from rank {} ended with an "
                    "exception of type {}: {}; the job ends",
                    context.rank, context.ranks, which, origin,
                    base::type_name_of_current_exception(), base::text_of_current_exception()));
    std::abort();  // compilers do not see that a virtual call never returns
}

void expect_target(const rank_context& context, std::uint32_t target, std::source_location site) {
    SELION_EXPECT_AT(
        target < context.ranks, site,
        fmt::format("send: there is no rank {}; ranks are 0 to {}", target, context.ranks - 1));
}

void expect_size(const rank_context& context, std::size_t bytes, std::source_location site) {
    const std::uint64_t most = context.transport->most_message_bytes();
    SELION_EXPECT_AT(
        bytes <= most, site,
        fmt::format("send: a message of {} bytes is too long; at most {} are possible. Set "
                    "SELION_MESSAGE_MEMORY to more than twice the size, or put the data in the "
                    "global address space and pass an origin counter",
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
    /// Once it is sent: the target may have died before it was expected to answer.
    void look_whether_it_lives() {
        if (context_.deaths != nullptr && context_.deaths->is_dead(target_)) {
            onesided::lose_answers(context_, target_);
        }
    }

private:
    void expect(const machine::awaited_answer& what) { context_.deaths->expect(target_, what); }

    rank_context& context_;
    std::uint32_t target_;
};

/// Whether a message must not be sent: its target is dead, and it is a handler that sends it.
bool leaves_out_message(rank_context& context, const outgoing& message) {
    if (!onesided::leaves_out(context, message.target, "send", message.bytes)) return false;
    expected_answers(context, message, message.when.origin != nullptr).look_whether_it_lives();
    return true;
}

void send_reply(rank_context& context, std::uint32_t origin, std::uint16_t kind,
                const argument_writer& arguments, std::span<const std::byte> data = {}) {
    // Also by completion handlers, which nobody would catch it from.
    if (context.deaths != nullptr && context.deaths->is_dead(origin)) {
        return context.deaths->drop();
    }
    context.transport->send(context, {.target = origin,
                                      .kind = kind,
                                      .is_reply = true,
                                      .handler = 0,
                                      .arguments = arguments.bytes(),
                                      .data = data.data(),
                                      .bytes = data.size()});
}

}  // namespace

std::uint64_t most_message_bytes() {
    rank_context& context = context_of_caller(std::source_location::current());
    return context.transport->most_message_bytes();
}

void send_plain_message(std::uint32_t target, std::uint64_t function, const std::byte* arguments,
                        std::size_t bytes, std::source_location site) {
    rank_context& context = context_of_caller(site);
    if (context.recorder != nullptr || context.own.announces_writes) [[unlikely]] {
        return send_any_message(
            {.target = target, .function = function, .arguments = {arguments, bytes}}, site);
    }
    expect_target(context, target, site);
    if (onesided::leaves_out(context, target, "send", bytes)) return;
    context.transport->send_plain(context, target, function, arguments, bytes);
}

void send_any_message(const outgoing& message, std::source_location site) {
    rank_context& context = context_of_caller(site);
    expect_target(context, message.target, site);
    const counters& when = message.when;
    if (when.target) expect_counter(when.target.bits(), message.target, site);
    if (when.completion != nullptr) claim_counter(context, *when.completion, site);
    if (leaves_out_message(context, message)) return;
    const operation_meter meter(context, message.state != 0 ? "rpc" : "send", message.bytes, site,
                                message.target);
    release_writes(context, site);
    machine::message_request request{.target = message.target,
                                     .kind = 0,
                                     .handler = message.function,
                                     .arguments = {},
                                     .data = message.data,
                                     .bytes = message.bytes};
    request.lends_data =
        when.origin != nullptr && message.bytes != 0 &&
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
        SELION_EXPECT_AT(!request.lends_data, site,
                         fmt::format("send: with an origin counter a header may have at most {} "
                                     "bytes with its handler; this has {}",
                                     arguments.free_bytes(), message.arguments.size()));
        joined = with_long_arguments(message);
        request.kind |= long_arguments;
        request.data = joined.data();
        request.bytes = joined.size();
        request.arguments = arguments.bytes();
    }
    if (request.bytes != 0 && !request.lends_data) expect_size(context, request.bytes, site);
    expected_answers answers(context, message, request.lends_data);
    context.transport->send(context, request);
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

void reply_with(std::uint32_t origin, std::uint64_t state, const void* value, std::size_t bytes) {
    argument_writer arguments;
    arguments.add(state);
    if (bytes <= arguments.free_bytes()) {
        arguments.add(value, bytes);
        return send_reply(*current_context, origin, value_reply, arguments);
    }
    expect_size(*current_context, bytes, std::source_location::current());
    send_reply(*current_context, origin, value_reply, arguments,
               {static_cast<const std::byte*>(value), bytes});
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

namespace selion::onesided {
namespace {

using namespace detail;

/// Whether an answer is expected: a rank that is taken for dead may have sent one before.
bool is_expected(const rank_context& context, std::uint32_t origin,
                 const machine::awaited_answer& what) {
    return context.deaths == nullptr || context.deaths->settle(origin, what);
}

void count_reply_of(rank_context& context, std::uint32_t origin, std::uint64_t address) {
    if (is_expected(context, origin, {.counted = counter_at(address)})) {
        count_if_wanted(context, address);
    }
}

[[gnu::noinline]] void receive_reply(rank_context& context,
                                     const machine::incoming_message& message) {
    argument_reader arguments(message.arguments);
    if (message.kind & count_reply) {
        count_reply_of(context, message.origin, arguments.word_if(message.kind & origin_counter));
        count_reply_of(context, message.origin, arguments.word_if(message.kind & completion));
        return;
    }
    future_state& state = *reinterpret_cast<future_state*>(arguments.word());
    if (!is_expected(context, message.origin, {.result = &state})) return;
    if (message.kind & error_reply) {
        const std::string_view both(reinterpret_cast<const char*>(message.data), message.bytes);
        const std::size_t end = both.find('\0');
        state.trouble = std::make_exception_ptr(remote_error(
            std::string(both.substr(0, end)), std::string(both.substr(end + 1)), message.origin));
    } else if (message.bytes != 0) {
        std::memcpy(state.place(), message.data, message.bytes);
    } else if (!arguments.rest().empty()) {
        std::memcpy(state.place(), arguments.rest().data(), arguments.rest().size());
    }
    fulfil(state);
}

[[noreturn]] void end_for_unknown_handler(rank_context& context,
                                          const machine::incoming_message& message) {
    context.host->launcher().end_job(
        context, fmt::format("rank {} of {}: a message from rank {} names the handler {:#x}, "
                             "which is not registered here: all ranks must run the same "
                             "program and load the same libraries; the job ends",
                             context.rank, context.ranks, message.origin, message.handler));
    std::abort();
}

inline message_function function_of(rank_context& context,
                                    const machine::incoming_message& message) {
    const std::uint64_t function = decode_function(message.handler);
    if (function == 0) [[unlikely]]
        end_for_unknown_handler(context, message);
    return reinterpret_cast<message_function>(function);
}

/// The message's function has left a completion handler that may wait.
/// @param target_bits, completion_address of the counters that count after it.
void leave_for_later(rank_context& context, const delivery& here, std::uint64_t target_bits,
                     std::uint64_t completion_address) {
    context.messages->completions.add(context, {.function = here.completion,
                                                .argument = here.completion_argument,
                                                .origin = here.message.origin,
                                                .target_counter = target_bits,
                                                .completion_counter = completion_address});
}

/// Nothing but a function and its arguments.
void receive_plain(rank_context& context, const machine::incoming_message& message) {
    delivery here{message};
    function_of(context, message)(here);
    if (here.completion != nullptr) [[unlikely]]
        leave_for_later(context, here, null_address, 0);
}

[[gnu::noinline]] void receive_request(rank_context& context, machine::incoming_message message) {
    argument_reader arguments(message.arguments);
    const std::uint64_t origin_address = arguments.word_if(message.kind & origin_counter);
    std::uint64_t target_bits = null_address;
    if (message.kind & target_counter) target_bits = arguments.word();
    const std::uint64_t completion_address = arguments.word_if(message.kind & completion);
    const std::uint64_t state = arguments.word_if(message.kind & future_of_result);
    message.arguments = arguments.rest();
    if (message.kind & long_arguments) {
        std::uint64_t head[2];
        std::memcpy(head, message.data, sizeof head);
        message.arguments = {message.data + sizeof head, head[0]};
        message.data += head[1];
        message.bytes -= head[1];
    }
    delivery here{message, state};
    function_of(context, message)(here);
    std::uint16_t wanted = message.kind & (origin_counter | completion);
    if (here.completion != nullptr) {
        leave_for_later(context, here, target_bits, completion_address);
        wanted &= origin_counter;  // the data have been moved
    } else {
        count_at_target(context, target_bits);
    }
    if (wanted == 0) return;
    argument_writer told;
    if (wanted & origin_counter) told.add(origin_address);
    if (wanted & completion) told.add(completion_address);
    send_reply(context, message.origin, count_reply | wanted, told);
}

}  // namespace

void deliver(rank_context& context, const machine::incoming_message& message) {
    constexpr std::uint16_t replies = count_reply | value_reply | error_reply;
    try {
        if (message.kind == 0) {
            receive_plain(context, message);
        } else if (message.kind & replies) {
            receive_reply(context, message);
        } else {
            receive_request(context, message);
        }
    } catch (...) {
        end_for_exception(context, "handler", message.origin);
    }
}

void run_completion(rank_context& context, const ripe_completion& what) {
    try {
        what.function(what.argument);
    } catch (...) {
        end_for_exception(context, "completion handler", what.origin);
    }
    count_at_target(context, what.target_counter);
    if (what.completion_counter == 0) return;
    argument_writer told;
    told.add(what.completion_counter);
    send_reply(context, what.origin, count_reply | completion, told);
}

}  // namespace selion::onesided

namespace selion {

bool progress(std::source_location site) {
    detail::rank_context& context = detail::context_of_caller(site);
    return detail::make_progress(context);
}

}  // namespace selion
