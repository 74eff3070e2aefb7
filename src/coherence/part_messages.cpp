// SPDX-License-Identifier: Apache-2.0
/// How a rank's part of a coherent space sends and takes in what the protocol says.
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "coherence/coherent_part.hpp"
#include "coherence/coherent_parts.hpp"
#include "onesided/message_state.hpp"
#include "onesided/waiting.hpp"
#include "selion/charge.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/error.hpp"

namespace selion::coherence {
namespace {

using detail::rank_context;

/// Whether a message causes at most one to who has sent it, which can be its answer: what gives a
/// block free causes a grant, and perhaps the next request's call for the same block; an update may
/// find that some copies are gone.
bool has_one_answer(message_kind what) {
    using enum message_kind;
    return what != flushed && what != write_back && what != acknowledged && what != update;
}

/// A flag that is set, also when what is done meanwhile ends with an exception.
class set_while {
public:
    explicit set_while(bool& flag) : flag_(flag), before_(std::exchange(flag, true)) {}
    ~set_while() { flag_ = before_; }
    set_while(const set_while&) = delete;
    set_while& operator=(const set_while&) = delete;

private:
    bool& flag_;
    bool before_;
};

}  // namespace

void call_rank(rank_context& context, std::uint32_t rank, std::uint64_t view_offset) {
    const std::uint64_t place = detail::global_address(rank, view_offset);
    std::byte* const mapped = detail::mapped_address(context, place);
    if (mapped == nullptr) return;
    auto& view = *reinterpret_cast<detail::block_view*>(mapped);
    // release: after the message, which is sent already; pairs with show_table [view.attention]
    std::atomic_ref(view.own_bytes).store(0, std::memory_order_release);
    std::atomic_ref(view.mask).store(0, std::memory_order_release);  // [view.attention]
}

void coherent_part::call_for_attention(std::uint32_t rank) {
    call_rank(context_, rank, shape_.view_offset);
}

void coherent_part::note_sent(std::uint32_t home, message_kind what) {
    using enum message_kind;
    const bool brings_data = what == write_back || what == flushed;
    if (brings_data || what == gone || what == all_gone) unconfirmed_.insert(home);
    if (what == get_shared || what == get_modified) asked_homes_.insert(home);
}

/// One after another: what is sent while a send waits for room is sent after it.
void coherent_part::send(std::uint32_t rank, const block_message& message) {
    if (!message.data.empty()) {
        if (has_block(message.kind)) ++blocks_sent_;
        charge(costs_.moved(message.data.size()));
    }
    note_sent(rank, message.kind);
    if (is_sending_) {
        const std::span data = message.data;
        outbox_.push_back(
            {rank, message_head::of(message, shape_.view_offset), {data.begin(), data.end()}});
        return;
    }
    const set_while sending(is_sending_);
    transmit(rank, message_head::of(message, shape_.view_offset), message.data);
    empty_outbox();
}

void coherent_part::empty_outbox() {
    while (!outbox_.empty()) {
        const kept_message& next = outbox_.front();  // stays in its place when others follow
        transmit(next.rank, next.head, next.data);
        outbox_.pop_front();
    }
}

/// What a rank knows of a block is changed when it sends, so a message is never given up: in a
/// collective whose time is over the machine keeps it until there is room, as it does in handlers.
/// The wait for what it is to bring about has the collective end.
void coherent_part::transmit(std::uint32_t rank, const message_head& head,
                             std::span<const std::byte> data) {
    std::array<std::byte, detail::most_argument_bytes> arguments;
    std::memcpy(arguments.data(), &head, sizeof head);
    std::size_t argument_bytes = sizeof head;
    if (!data.empty() && data.size() <= arguments.size() - sizeof head) {
        std::memcpy(arguments.data() + sizeof head, data.data(), data.size());
        argument_bytes += data.size();
        data = {};
    }
    const outgoing message{.rank = rank,
                           .arguments = {arguments.data(), argument_bytes},
                           .data = data,
                           .is_reply = replies_keep_order_ && rank == answering_};
    try {
        pass_on(message);
    } catch (const error& trouble) {
        if (trouble.code() != status::timed_out) throw;
        const set_while as_in_handler(context_.own.in_handler);
        pass_on(message);
    }
    if (context_.spends_time && !is_handling_) sent_until_ps_ = context_.clock->stamp_ps();
}

void coherent_part::pass_on(const outgoing& message) {
    const std::uint64_t function = detail::encode_function(&receive_block);
    // What a handler cannot send now leaves later, and only then the target has something to find:
    // it may only hit, whether or not the sender does.
    const bool may_be_late = context_.own.in_handler && context_.mapped_count == context_.ranks;
    if (message.data.empty() && !message.is_reply && !may_be_late) {
        context_.transport->send_plain(context_, message.rank, function, message.arguments.data(),
                                       message.arguments.size());
    } else {
        context_.transport->send(context_, {.target = message.rank,
                                            .kind = 0,
                                            .is_reply = message.is_reply,
                                            .handler = function,
                                            .arguments = message.arguments,
                                            .data = message.data.data(),
                                            .bytes = message.data.size(),
                                            .on_sent = may_be_late ? &call_rank : nullptr,
                                            .sent_argument = shape_.view_offset});
    }
    if (!may_be_late) call_for_attention(message.rank);
}

void coherent_part::receive(const rank_context& server, const detail::incoming_message& message) {
    message_head head;
    std::memcpy(&head, message.arguments.data(), sizeof head);
    std::span<const std::byte> data = message.arguments.subspan(sizeof head);
    if (!message.about.data.empty()) data = message.about.data;
    const bool is_own_thread = &server == &context_;
    // acquire: and only the rank's own thread makes it less [part.kept]
    const bool is_next = kept_messages_.load(std::memory_order_acquire) == 0;
    if (is_own_thread && is_next && !is_handling_) return handle(message.about.origin, head, data);
    keep_message(message.about.origin, head, data);
    if (!is_own_thread) call_for_attention(context_.rank);
}

/// Leaves a message to the rank's own thread, behind those that it has left already.
void coherent_part::keep_message(std::uint32_t origin, const message_head& head,
                                 std::span<const std::byte> data) {
    // release: before the message can be taken [part.kept]
    kept_messages_.fetch_add(1, std::memory_order_release);
    auto* const kept = new left_message{this, {origin, head, {data.begin(), data.end()}}};
    constexpr auto handle_it = [](void* argument) {
        const std::unique_ptr<left_message> left(static_cast<left_message*>(argument));
        left->part->handle(left->message.rank, left->message.head, left->message.data);
        // release: it is handled [part.kept]
        left->part->kept_messages_.fetch_sub(1, std::memory_order_release);
    };
    context_.messages->completions.add_to_own_stack(
        *detail::current_context, {.function = handle_it, .argument = kept, .is_brief = true});
}

/// No other thread calls this part any more, and nothing is left to it.
/// @pre all ranks have flushed, and met.
void coherent_part::finish_calls() {
    detail::let_handlers_return(context_);
    while (kept_messages_.load(std::memory_order_acquire) != 0) {  // [part.kept]
        detail::run_completions(context_);
        detail::let_others_run(context_);
    }
}

void coherent_part::handle(std::uint32_t origin, const message_head& head,
                           std::span<const std::byte> data) {
    using enum message_kind;
    const set_while handling(is_handling_);
    const block_message message{head.kind(), head.block, data};
    wait_until(sent_until_ps_);  // what the rank has sent knows nothing of this message
    answering_ = has_one_answer(message.kind) ? origin : nobody;
    charge(costs_.serve());
    if (!data.empty()) {
        if (has_block(message.kind)) ++blocks_received_;
        charge(costs_.moved(data.size()));
    }
    switch (message.kind) {
        case get_shared:
        case get_modified:
        case upgrade:
            if (directory_.is_untouched(message.block)) charge(costs_.create_entry());
            [[fallthrough]];
        case flushed:
        case write_back:
        case acknowledged:
        case gone:
        case all_gone: directory_.receive(origin, message); break;
        case written: take_changes(origin, message); break;
        case update: take_update(message); break;
        case taken: note_taken(message.block); break;
        case updated: note_update(); break;
        case echo_request: send(origin, {echo, 0}); break;
        case echo:
            --echoes_;
            detail::count_together(context_, changes_);
            break;
        default: copies_.receive(origin, message); break;
    }
    if (context_.spends_time) handled_until_ps_ = context_.clock->stamp_ps();
    answering_ = nobody;
}

}  // namespace selion::coherence
