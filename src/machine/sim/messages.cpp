// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>

#include "machine/fiber/exception_state.hpp"
#include "machine/sim/simulation.hpp"
#include "meters/record/recorder.hpp"

/// Messages that make their target call a function. A handler runs in the event in which its
/// message takes effect, with a clock of its own: what it charges delays what its rank handles
/// next, and is taken from what the rank computes. It cannot wait, so nothing here suspends
/// anybody.
namespace selion::machine::sim {
namespace {

constexpr std::size_t data_alignment = 16;

std::size_t padded(std::size_t bytes) {
    return (bytes + data_alignment - 1) / data_alignment * data_alignment;
}

}  // namespace

void simulation::pack(transfer& into, const message_request& request) {
    const std::size_t arguments = request.arguments.size();
    const std::size_t start = request.bytes == 0 ? arguments : padded(arguments);
    into.make_room(start + request.bytes);
    if (arguments != 0) std::memcpy(into.data(), request.arguments.data(), arguments);
    if (request.bytes != 0) std::memcpy(into.data() + start, request.data, request.bytes);
    into.argument_bytes = static_cast<std::uint16_t>(arguments);
    into.handler = request.handler;
    into.message_kind = request.kind;
}

void simulation::send(detail::rank_context& context, const message_request& request) {
    if (request.is_reply && handler_ != nullptr && !handler_->message.has_reply &&
        handler_->message.from == request.target && !handler_->message.is_answer) {
        return reply(handler_->message, request);
    }
    has_handlers_ = true;
    const call entered(*this, context);
    rank_state& origin = entered.rank;
    const std::uint64_t target = detail::global_address(request.target, 0);
    transfer& made = make_transfer(origin, transfer_kind::message, target, 0);
    pack(made, request);
    made.touches = nullptr;
    const operation_regime& regime = model_.active_message.of(made.data_bytes);
    if (!is_local(origin, target)) {
        note_sent(origin, transfer_kind::message, request.bytes);
        return send(origin, made, regime, message_class::write, made.data_bytes);
    }
    spend(origin, regime.origin + regime.origin_per_byte.of(made.data_bytes));
    made.regime = &regime;
    made.sent = time_of(origin);
    arrive_without_wires(made, time_of(origin));
}

/// A message between ranks that share memory, or to oneself.
void simulation::arrive_without_wires(transfer& what, ticks at) {
    what.act = [](engine&, event& due) {
        transfer& here = static_cast<transfer&>(due);
        here.host->arrived(here);
    };
    if (what.from != what.to) {
        at += node_of(what.to).way_between(thread_of(what.from), thread_of(what.to));
    }
    engine_.schedule(what, at, engine_.rank(what.from));
}

/// The message that is handled now goes back as its own answer.
void simulation::reply(transfer& to, const message_request& request) {
    to.has_reply = true;
    rank_state& origin = ranks_[to.to];
    if (!is_local(origin, detail::global_address(to.from, 0))) {
        note_sent(origin, transfer_kind::message, request.bytes);
    }
    const auto* data = static_cast<const std::byte*>(request.data);
    handler_->reply = request;
    handler_->reply_arguments.assign(request.arguments.begin(), request.arguments.end());
    handler_->reply_data.assign(data, data + request.bytes);
}

bool simulation::poll(detail::rank_context& context) {
    if (handler_ != nullptr) return false;
    const call entered(*this, context);
    poll(entered.rank);
    return false;
}

/// One handler of a rank after another: those that come while one runs wait, in their order. Only
/// the first of them has an event.
/// @return whether it is this one's turn.
bool simulation::begin_handling(transfer& what) {
    rank_state& rank = ranks_[what.to];
    const bool is_free = rank.handling_until <= engine_.now();
    if (!what.is_deferred) {
        if (is_free && rank.deferred == nullptr) return true;
        what.is_deferred = true;
        what.cost = 0;  // records show when its turn comes, not when it was worked on
        what.next = nullptr;
        const bool is_first = rank.deferred == nullptr;
        (is_first ? rank.deferred : rank.deferred_end->next) = &what;
        rank.deferred_end = &what;
        if (is_first) defer(what);
        return false;
    }
    if (!is_free) {
        defer(what);
        return false;
    }
    rank.deferred = what.next;
    if (rank.deferred != nullptr) defer(static_cast<transfer&>(*rank.deferred));
    return true;
}

void simulation::defer(transfer& what) {
    what.act = [](engine&, event& due) {
        transfer& late = static_cast<transfer&>(due);
        late.is_answer ? late.host->finish(late) : late.host->take_effect(late);
    };
    const ticks at = std::max(ranks_[what.to].handling_until, engine_.now());
    engine_.schedule(what, at, engine_.rank(what.from));
}

void simulation::run_handler(transfer& what) {
    rank_state& rank = ranks_[what.to];
    detail::rank_context& context = rank.context;
    running_handler here{rank, what, engine_.now(), -1, 0, {}, {}, {}};
    running_handler* const outer_handler = std::exchange(handler_, &here);
    handling_rank_.store(what.to, std::memory_order_relaxed);
    detail::rank_context* const outer = std::exchange(detail::current_context, &context);
    const bool counts_alone = std::exchange(context.own.counts_alone, false);
    const bool was_in_handler = std::exchange(context.own.in_handler, true);
    meters::recorder* const recorder = context.recorder;
    const auto left =
        recorder == nullptr ? meters::recorder::left_state() : recorder->begin_beside();
    std::span<const std::byte> data;
    if (what.data_bytes > what.argument_bytes) {
        data = std::span(what.data(), what.data_bytes).subspan(padded(what.argument_bytes));
    }
    note_host_time(rank);
    // The rank whose stack this is may be handling an exception.
    const exception_state borrowed = std::exchange(thread_exceptions(), {});
    incoming_message message{.about = {what.from, data.size(), data},
                             .kind = what.message_kind,
                             .handler = what.handler,
                             .arguments = {what.data(), what.argument_bytes}};
    deliver_(context, message);
    thread_exceptions() = borrowed;
    spend_host_time(rank);
    if (recorder != nullptr) recorder->end_beside(left);
    context.own.in_handler = was_in_handler;
    context.own.counts_alone = counts_alone;
    detail::current_context = outer;
    handler_ = outer_handler;
    const std::uint32_t outer_rank =
        outer_handler == nullptr ? no_rank : outer_handler->rank.context.rank;
    handling_rank_.store(outer_rank, std::memory_order_relaxed);
    what.is_deferred = false;
    if (what.has_reply && !what.is_answer) {
        here.reply.arguments = here.reply_arguments;
        here.reply.data = here.reply_data.data();
        pack(what, here.reply);
    }
    end_handling(rank, engine_.now(), here.now);
}

/// Its answer, or its acknowledgement, leaves when the handler is done.
void simulation::answer_message(transfer& what) {
    if (records_messages_) [[unlikely]]
        note_arrival(what);
    if (!what.has_reply && !model_.acknowledges_puts) return finish(what);
    // What the handler has sent leaves by events of its own, which come first.
    const rank_state& rank = ranks_[what.to];
    const ticks handled_at = std::max(rank.handling_until, engine_.now());
    if (handled_at == engine_.now() && rank.leaving == 0) return send_answer(what);
    const ticks at = std::max(handled_at, sent_ahead_until(rank, what.from));
    what.act = [](engine&, event& due) {
        transfer& answered = static_cast<transfer&>(due);
        answered.host->send_answer(answered);
    };
    engine_.schedule(what, at, engine_.rank(what.to));
}

/// What a handler has charged is its rank's time.
void simulation::end_handling(rank_state& rank, ticks begun, ticks ended) {
    if (ended == begun) return;
    rank.handling_until = ended;
    if (model_.reception.kind == reception_kind::hardware) {
        rank.hardware_until = std::max(rank.hardware_until, ended);
        return;
    }
    rank.processor_until = std::max(rank.processor_until, ended);
    const bool is_stolen = rank.doing == activity::computes && rank.is_interrupts;
    if (is_stolen && !model_.reception.has_own_processor) engine_.steal(*rank.self, ended - begun);
}

}  // namespace selion::machine::sim
