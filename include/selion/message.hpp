// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <span>
#include <type_traits>

#include <selion/counter.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/message_function.hpp>
#include <selion/global_ptr.hpp>
#include <selion/message_info.hpp>
#include <selion/rank.hpp>

/// Active messages: data that come with a function of the program, which the target runs when they
/// arrive. Handlers of one rank run one at a time: in its calls that wait or make progress, and
/// with interrupts on a thread of their own as well (`world::progress`). A handler may put,
/// get from memory that is mapped, notify, count, send, reply and charge; it must not wait,
/// allocate collectively or call a collective: that ends the job with a sentence.
///
/// Messages from one rank to another are handled in the order in which they were sent. They are not
/// ordered with puts, except that a handler sees all puts that the sender has made to its rank
/// before. `quiet` and `barrier` do not wait for handlers: use a completion counter or a reply.
///
/// What is on its way when the ranks' functions have returned is handled before the job ends, and
/// what its handlers send.
namespace selion {

/// Bytes of a header that travel with a message at no extra cost; larger ones go with the data.
inline constexpr std::size_t short_header_bytes = 48;

/// What a header handler answers: where the data go, and what follows when they are there.
struct arrival {
    void* place = nullptr;                ///< null: nowhere, the handler has seen to them
    void (*completion)(void*) = nullptr;  ///< called when the data are in their place
    void* argument = nullptr;             ///< passed to it
    /// The completion handler is called later, outside of handlers, and may wait: put, get, send,
    /// call other ranks and wait for them, everything but collectives, allocation by all included
    /// (that ends the job with a sentence). Those of one rank run one at a time, in the order of
    /// their messages, beside handlers of other messages:
    ///  - with interrupts on real machines on a thread of the rank's own, so what they share with
    ///    the rank's own code is the program's to guard;
    ///  - elsewhere on the rank's own thread, in its calls that wait or serve messages. While one
    ///    waits, the call that runs it goes on waiting, too: so it must not wait for what its own
    ///    rank does only after that.
    /// Those of what has been sent before the sender's function returns run before the job ends.
    /// @cost an allocation, and a wake of a thread that sleeps.
    bool may_wait = false;
};

namespace detail {

/// What is sent, in the words of the floor below.
struct outgoing {
    std::uint32_t target;
    std::uint64_t function;  ///< encoded
    std::span<const std::byte> arguments;
    const void* data = nullptr;
    std::size_t bytes = 0;
    counters when = {};
    std::uint64_t state = 0;  ///< of the future that wants the result
    bool is_call = false;     ///< an rpc, also if nobody wants its result
};
SELION_API void send_any_message(const outgoing& message, std::source_location site);
/// One with nothing but arguments that fit beside it, and nobody to tell.
SELION_API void send_plain_message(std::uint32_t target, std::uint64_t function,
                                   const std::byte* arguments, std::size_t bytes,
                                   std::source_location site);

/// The same with at most two words of arguments.
SELION_API void send_words(std::uint32_t target, std::uint64_t function, std::uint64_t first,
                           std::uint64_t second, std::size_t bytes, std::source_location site);
/// One of at most one word whose function has a result.
SELION_API void send_call_word(std::uint32_t target, std::uint64_t function, std::uint64_t state,
                               std::uint64_t argument, std::size_t bytes,
                               std::source_location site);

/// What a message brings its function, where that is so little that it travels in registers.
template <class Arguments>
inline constexpr bool are_few_words = sizeof(Arguments) <= 2 * sizeof(std::uint64_t);

/// A message of nothing but such arguments, and perhaps a future that wants the result. Nothing of
/// it stands in memory on its way: a processor has few stores under way, and the message's own are
/// the ones that take long.
template <class Arguments>
[[gnu::always_inline]] inline void send_few_words(std::uint32_t target, std::uint64_t function,
                                                  std::uint64_t state, const Arguments& arguments,
                                                  std::source_location site) {
    std::uint64_t words[2] = {};
    std::memcpy(words, &arguments, sizeof arguments);
    if (state == 0) {
        return send_words(target, function, words[0], words[1], sizeof arguments, site);
    }
    if constexpr (sizeof arguments <= sizeof words[0]) {
        return send_call_word(target, function, state, words[0], sizeof arguments, site);
    }
    send_any_message({.target = target,
                      .function = function,
                      .arguments = std::as_bytes(std::span(&arguments, 1)),
                      .state = state},
                     site);
}

/// Inline, because callers know at compile time which of the two it is.
inline void send_message(const outgoing& message, std::source_location site) {
    const bool is_plain = message.bytes == 0 && message.state == 0 &&
                          message.arguments.size() <= most_argument_bytes &&
                          message.when.are_none();
    if (!is_plain) return send_any_message(message, site);
    send_plain_message(message.target, message.function, message.arguments.data(),
                       message.arguments.size(), site);
}
/// Largest message to a rank; see SELION_MESSAGE_MEMORY.
SELION_API std::uint64_t most_message_bytes();

template <class Header>
Header header_from(const std::byte* bytes) {
    alignas(Header) std::byte copy[sizeof(Header)];
    std::memcpy(copy, bytes, sizeof(Header));
    return *reinterpret_cast<Header*>(copy);
}

[[noreturn]] SELION_API void end_for_unknown_function(std::uint64_t code);

/// A function pointer in a form that other processes understand; other objects as they are.
template <class Function>
struct portable {
    [[no_unique_address]] Function function;
    explicit portable(const Function& from) : function(from) {}
    const Function& get() const { return function; }
};
template <class Pointer>
struct portable_function {
    std::uint64_t code = 0;
    portable_function() = default;
    explicit portable_function(Pointer from)
        : code(encode_function(reinterpret_cast<std::uint64_t>(from))) {}
    Pointer get() const { return reinterpret_cast<Pointer>(decode_checked(code)); }

private:
    static std::uint64_t decode_checked(std::uint64_t code) {
        const std::uint64_t address = decode_function(code);
        if (address == 0) [[unlikely]]
            end_for_unknown_function(code);
        return address;
    }
};
template <class Result, class... Arguments>
struct portable<Result (*)(Arguments...)> : portable_function<Result (*)(Arguments...)> {
    using portable_function<Result (*)(Arguments...)>::portable_function;
};
template <class Result, class... Arguments>
struct portable<Result (*)(Arguments...) noexcept>
    : portable_function<Result (*)(Arguments...) noexcept> {
    using portable_function<Result (*)(Arguments...) noexcept>::portable_function;
};

/// A header handler on its way to the target, with its header, in whole words.
template <class Handler, class Header>
struct alignas(std::uint64_t) letter {
    [[no_unique_address]] portable<Handler> handler;
    Header header;
};

/// Runs a header handler, moves the data, runs the completion handler or leaves it for later.
template <class Handler, class Header>
void receive_letter(incoming_message& here) {
    const message_info& about = here.about;
    const auto came = header_from<letter<Handler, Header>>(here.arguments.data());
    Handler handler = came.handler.get();
    const arrival where = handler(came.header, about);
    if (where.place != nullptr && about.data_bytes != 0) {
        std::memcpy(where.place, about.data.data(), about.data_bytes);
    }
    if (where.completion == nullptr) return;
    if (where.may_wait) {
        here.completion = where.completion;
        here.completion_argument = where.argument;
    } else {
        where.completion(where.argument);
    }
}

template <class Handler, class Header>
[[gnu::noinline]] void send_any_letter(std::uint32_t target, const letter<Handler, Header>& sent,
                                       std::span<const std::byte> data, const counters& when,
                                       std::source_location site) {
    send_any_message({.target = target,
                      .function = encode_function(&receive_letter<Handler, Header>),
                      .arguments = std::as_bytes(std::span(&sent, 1)),
                      .data = data.data(),
                      .bytes = data.size(),
                      .when = when},
                     site);
}

}  // namespace detail

/// What may handle a message with such a header: `arrival handler(const Header&, message_info)`.
template <class Handler, class Header>
concept header_handler = transferable<Handler> && transferable<Header> &&
                         std::is_invocable_r_v<arrival, Handler&, const Header&, message_info>;

/// Sends a header and data. At the target `handler` is called with the header; it says where the
/// data go, and what to call when they are there. The data may be empty.
///
/// The source may be reused on return, unless an origin counter is given: then when it has counted;
/// so data that the target can reach itself are not copied on the way. The target counter counts
/// after the completion handler, the completion counter when news of that has come back.
/// @param data at most a little less than half of SELION_MESSAGE_MEMORY, unless an origin counter
/// is given, the header has at most `short_header_bytes`, and the target can reach them: data in
/// the global address space, or of a rank of the same process; on simulated machines 4 GiB.
/// @error selion::error, status::bad_argument: the data, or the header, are longer. Nothing has
/// been sent then.
/// @pre the handler's type is the same program's at the target, and captures nothing but bytes that
/// mean the same there (no pointers).
/// @cost one message; allocates nothing where header and handler are short.
template <class Header, header_handler<Header> Handler>
[[gnu::always_inline]]  // so that callers know what they do not pass
inline void
send(rank_id target, Handler handler, const Header& header, std::span<const std::byte> data = {},
     const counters& when = {}, std::source_location site = std::source_location::current()) {
    using letter = detail::letter<Handler, Header>;
    const letter sent{detail::portable<Handler>(handler), header};
    if constexpr (sizeof(letter) <= detail::most_argument_bytes) {
        if (data.empty() && when.are_none()) {
            const auto function = detail::encode_function(&detail::receive_letter<Handler, Header>);
            if constexpr (detail::are_few_words<letter>) {
                return detail::send_few_words(target, function, 0, sent, site);
            }
            const auto bytes = std::as_bytes(std::span(&sent, 1));
            return detail::send_plain_message(target, function, bytes.data(), bytes.size(), site);
        }
    }
    detail::send_any_letter(target, sent, data, when, site);
}

/// Serves messages that have come for the calling rank, if any. Calls that wait do so by
/// themselves.
/// @return whether there were any.
SELION_API bool progress(std::source_location site = std::source_location::current());

}  // namespace selion
