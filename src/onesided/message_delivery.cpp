// SPDX-License-Identifier: Apache-2.0
/// Messages at their target: what their functions see, and what counts when they have run.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "base/exception_text.hpp"
#include "machine/machine.hpp"
#include "onesided/deaths.hpp"
#include "onesided/message_parts.hpp"
#include "onesided/message_state.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/detail/message_function.hpp"
#include "selion/rpc.hpp"

namespace selion::onesided {
namespace {

using namespace detail;

/// Where the wanted ones are, they count once more.
void count_if_wanted(rank_context& context, std::uint64_t address) {
    if (address != 0) count_together(context, counter_access::word(*counter_at(address)));
}

void count_at_target(rank_context& context, std::uint64_t bits) {
    if (bits == null_address) return;
    auto& counted = *reinterpret_cast<counter*>(mapped_address(context, bits));
    count_together(context, counter_access::word(counted));
}

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

/// A value of a length of its own.
[[gnu::noinline]] void receive_row(future_state& state, const message_info& about) {
    try {
        state.receive(state, about.data.data(), about.data_bytes);
    } catch (...) {  // there is no memory for it
        state.trouble = std::current_exception();
    }
}

[[gnu::noinline]] void receive_reply(rank_context& context,
                                     const machine::incoming_message& message) {
    argument_reader arguments(message.arguments);
    if (message.kind & count_reply) {
        count_reply_of(context, message.about.origin,
                       arguments.word_if(message.kind & origin_counter));
        count_reply_of(context, message.about.origin, arguments.word_if(message.kind & completion));
        return;
    }
    future_state& state = *reinterpret_cast<future_state*>(arguments.word());
    if (!is_expected(context, message.about.origin, {.result = &state})) return;
    if (message.kind & error_reply) {
        const std::string_view both(reinterpret_cast<const char*>(message.about.data.data()),
                                    message.about.data_bytes);
        const std::size_t end = both.find('\0');
        state.trouble = std::make_exception_ptr(remote_error(std::string(both.substr(0, end)),
                                                             std::string(both.substr(end + 1)),
                                                             message.about.origin));
    } else if (state.receive != nullptr) {
        receive_row(state, message.about);
    } else if (message.about.data_bytes != 0) {
        std::memcpy(state.place(), message.about.data.data(), message.about.data_bytes);
    } else if (const std::span value = arguments.rest(); value.size() == sizeof(std::uint64_t)) {
        std::memcpy(state.place(), value.data(), sizeof(std::uint64_t));  // without a call
    } else if (!value.empty()) {
        std::memcpy(state.place(), value.data(), value.size());
    }
    fulfil(state);
}

[[noreturn, gnu::noinline]] void end_for_unknown_handler(rank_context& context,
                                                         const machine::incoming_message& message) {
    context.host->launcher().end_job(
        context, fmt::format("rank {} of {}: a message from rank {} names the handler {:#x}, "
                             "which is not registered here: all ranks must run the same "
                             "program and load the same libraries; the job ends",
                             context.rank, context.ranks, message.about.origin, message.handler));
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
[[gnu::noinline]] void leave_for_later(rank_context& context, const incoming_message& here,
                                       std::uint64_t target_bits,
                                       std::uint64_t completion_address) {
    context.messages->completions.add(context, {.function = here.completion,
                                                .argument = here.completion_argument,
                                                .origin = here.about.origin,
                                                .target_counter = target_bits,
                                                .completion_counter = completion_address});
}

/// Calls the function of a message that is nothing else.
[[gnu::always_inline]] inline void call_function(rank_context& context, incoming_message& here) {
    function_of(context, here)(here);
    if (here.completion != nullptr) [[unlikely]]
        leave_for_later(context, here, null_address, 0);
}

/// Nothing but a call of a function that has a result.
[[gnu::noinline]] void receive_call(rank_context& context, incoming_message& message) {
    argument_reader arguments(message.arguments);
    message.state = arguments.word();
    message.arguments = arguments.rest();
    call_function(context, message);
}

[[gnu::noinline]] void receive_request(rank_context& context, incoming_message message) {
    argument_reader arguments(message.arguments);
    const std::uint64_t origin_address = arguments.word_if(message.kind & origin_counter);
    std::uint64_t target_bits = null_address;
    if (message.kind & target_counter) target_bits = arguments.word();
    const std::uint64_t completion_address = arguments.word_if(message.kind & completion);
    message.state = arguments.word_if(message.kind & future_of_result);
    message.arguments = arguments.rest();
    if (message.kind & long_arguments) {
        std::uint64_t head[2];
        std::memcpy(head, message.about.data.data(), sizeof head);
        message.arguments = {message.about.data.data() + sizeof head, head[0]};
        message.about.data = message.about.data.subspan(head[1]);
        message.about.data_bytes -= head[1];
    }
    function_of(context, message)(message);
    std::uint16_t wanted = message.kind & (origin_counter | completion);
    if (message.completion != nullptr) {
        leave_for_later(context, message, target_bits, completion_address);
        wanted &= origin_counter;  // the data have been moved
    } else {
        count_at_target(context, target_bits);
    }
    if (wanted == 0) return;
    argument_writer told;
    if (wanted & origin_counter) told.add(origin_address);
    if (wanted & completion) told.add(completion_address);
    send_reply(context, message.about.origin, count_reply | wanted, told);
}

}  // namespace

void call_to_mail(rank_context& caller, std::uint32_t rank) {
    // acquire: what it looks at has been made [mail.call]
    const auto call = caller.messages->call_to_mail.load(std::memory_order_acquire);
    if (call != nullptr) call(caller, rank);
}

namespace {

[[gnu::noinline]] void deliver_other(rank_context& context, machine::incoming_message& message) {
    constexpr std::uint16_t replies = count_reply | value_reply | error_reply;
    if (message.kind == future_of_result && message.about.data_bytes == 0) {
        receive_call(context, message);
    } else if (message.kind & replies) {
        receive_reply(context, message);
    } else {
        receive_request(context, message);
    }
}

}  // namespace

void deliver(rank_context& context, machine::incoming_message& message) {
    try {
        if (message.kind == 0) {
            call_function(context, message);
        } else {
            deliver_other(context, message);
        }
    } catch (...) {
        end_for_exception(context, "handler", message.about.origin);
    }
    context.messages->count_handled();  // when all that it has sent is on its way
}

[[gnu::noinline]] void end_for_exception(rank_context& context, std::string_view which,
                                         std::uint32_t origin) {
    context.host->launcher().end_job(
        context,
        fmt::format("rank {} of {}: a {} of a message from rank {} ended with an "
                    "exception of type {}: {}; the job ends",
                    context.rank, context.ranks, which, origin,
                    base::type_name_of_current_exception(), base::text_of_current_exception()));
    std::abort();  // compilers do not see that a virtual call never returns
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
