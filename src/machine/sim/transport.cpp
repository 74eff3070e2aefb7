// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <deque>

#include "machine/sim/simulation.hpp"
#include "selion/atomics.hpp"

namespace selion::machine::sim {
namespace {

using detail::rank_of;

/// Bytes that an atomic and its answer carry.
constexpr std::uint64_t word_bytes = 8;

template <class T>
std::uint64_t combine(const detail::atomic_request& request, std::uint64_t before) {
    return detail::to_bits(detail::combine_atomically(
        request.operation, detail::from_bits<T>(before), detail::from_bits<T>(request.operand)));
}

std::uint64_t value_after(const detail::atomic_request& request, std::uint64_t before) {
    using enum detail::element_kind;
    const bool is_narrow = request.width == sizeof(std::uint32_t);
    switch (request.kind) {
        case unsigned_integer: break;
        case signed_integer:
            return is_narrow ? combine<std::int32_t>(request, before)
                             : combine<std::int64_t>(request, before);
        case floating:
            return is_narrow ? combine<float>(request, before) : combine<double>(request, before);
    }
    return is_narrow ? combine<std::uint32_t>(request, before)
                     : combine<std::uint64_t>(request, before);
}

/// An atomic on memory that nobody else touches meanwhile. @return what was there.
std::uint64_t change_element(std::byte* address, const detail::atomic_request& request) {
    std::uint64_t before = 0;
    std::memcpy(&before, address, request.width);
    if (request.operation == detail::atomic_operation::compare_swap && before != request.compare) {
        return before;
    }
    const std::uint64_t after = value_after(request, before);
    std::memcpy(address, &after, request.width);
    return before;
}

}  // namespace

transfer& simulation::make_transfer(rank_state& origin, transfer_kind what, std::uint64_t target,
                                    std::uint64_t bytes) {
    transfer& made = transfers_.take();
    made.what = what;
    made.host = this;
    made.origin = made.from = origin.context.rank;
    made.to = rank_of(target);
    made.store_bytes = 0;
    made.number = 0;
    made.flow = 0;
    made.is_fleeting = made.waits_alone = false;
    made.stage = detail::dma_stage::set_up;
    made.by_dma = what == transfer_kind::put && model_.mesh.dma_from_bytes != 0 &&
                  bytes >= model_.mesh.dma_from_bytes;
    made.target = target;
    made.signal = detail::null_address;
    made.answer = nullptr;
    made.origin_counter = made.completion = nullptr;
    made.moves_data = bytes <= most_moved_bytes_;
    made.make_room(bytes);
    made.touches = address_of(target);
    made.concerns = ranks_[made.to].self;
    return made;
}

bool simulation::is_local(const rank_state& rank, std::uint64_t bits) const {
    const std::uint32_t number = rank.context.rank;
    return rank_of(bits) == number || shares_memory(rank_of(bits), number);
}

void simulation::put(detail::rank_context& context, const detail::put_request& request) {
    const call entered(*this, context);
    rank_state& origin = entered.rank;
    const bool has_signal = request.signal != detail::null_address;
    if (has_signal && is_local(origin, request.signal)) {
        put_locally(origin, request);
        count(request.origin);
        return count(request.completion);
    }
    transfer& made = make_transfer(origin, transfer_kind::put, request.target, request.bytes);
    if (made.has_data()) std::memcpy(made.data(), request.source, request.bytes);
    made.signal = request.signal;
    made.update = request.update;
    made.completion = request.completion;
    made.store_bytes = request.store_bytes;
    made.stage = request.stage;
    const bool wants_dma = request.stage != detail::dma_stage::none;
    if (wants_dma && model_.mesh.has_dma()) made.by_dma = true;
    if (request.store_bytes != 0) made.by_dma = false;  // the processor's own stores are asked for
    made.is_fleeting = request.is_fleeting;
    made.waits_alone = request.waits_alone;
    if (!made.is_fleeting) ++origin.under_way;
    // A signal is a word that travels behind its data.
    const std::uint64_t wire_bytes = request.bytes + (has_signal ? word_bytes : 0);
    const operation_costs& costs = model_.costs_of_put(has_signal, request.bytes);
    const std::uint64_t own_bytes = request.bytes != 0 ? request.bytes : wire_bytes;
    send(origin, made, costs.of(own_bytes), message_class::write, wire_bytes);
    count(request.origin);
}

void simulation::put_to_all(detail::rank_context& context, std::span<const std::uint64_t> targets,
                            const void* source, std::size_t bytes) {
    if (!network_->has_broadcast() || handler_ != nullptr || model_.reception.credits != 0) {
        return transport::put_to_all(context, targets, source, bytes);
    }
    const call entered(*this, context);
    rank_state& origin = entered.rank;
    const operation_regime& regime = model_.put.of(bytes);
    const ticks begun = origin.self->now;
    spend(origin, regime.origin + regime.origin_per_byte.of(bytes));
    std::vector<message*> copies;
    std::deque<shown_send> shown;
    for (const std::uint64_t target : targets) {
        transfer& made = make_transfer(origin, transfer_kind::put, target, bytes);
        if (made.has_data()) std::memcpy(made.data(), source, bytes);
        ++origin.under_way;
        shown.emplace_back(*this, origin, made, false);
        prepare(origin, made, regime, message_class::write, bytes);
        copies.push_back(&made);
    }
    engine_.catch_up();
    for (message* each : copies) static_cast<transfer*>(each)->sent = engine_.now();
    origin.self->now = std::max(origin.self->now, network_->broadcast(engine_, copies));
    note_work(origin, begun);
}

transfer& simulation::send_get(rank_state& origin, const detail::get_request& request) {
    transfer& made = make_transfer(origin, transfer_kind::get, request.source, request.bytes);
    made.answer = request.target;
    made.signal = request.signal;
    made.update = {1, true};
    made.origin_counter = request.origin;
    made.completion = request.completion;
    return made;
}

void simulation::get(detail::rank_context& context, void* target, std::uint64_t source,
                     std::size_t bytes) {
    const call entered(*this, context);
    const ticks begun = entered.rank.self->now;
    transfer& made = send_get(entered.rank, {target, source, bytes});
    made.is_awaited = true;
    send(entered.rank, made, model_.get.of(bytes), message_class::read_request, 0);
    await_answer(entered.rank, made, begun);
    transfers_.give_back(made);
}

void simulation::start_get(detail::rank_context& context, const detail::get_request& request) {
    const call entered(*this, context);
    transfer& made = send_get(entered.rank, request);
    ++entered.rank.under_way;
    send(entered.rank, made, model_.get.of(request.bytes), message_class::read_request, 0);
}

transfer& simulation::send_atomic(rank_state& origin, const detail::atomic_request& request) {
    transfer& made = make_transfer(origin, transfer_kind::atomic, request.target, word_bytes);
    made.request = request;
    return made;
}

std::uint64_t simulation::atomic(detail::rank_context& context,
                                 const detail::atomic_request& request) {
    const call entered(*this, context);
    rank_state& origin = entered.rank;
    const ticks begun = time_of(origin);
    if (rank_of(request.target) == context.rank) {
        // One that changes the word is no look; where it takes time no other look has to.
        spend(origin, processor_of(context.rank).call);
        const bool is_work =
            time_of(origin) > begun && request.operation != detail::atomic_operation::load;
        if (is_work) origin.polled_just_now = false;
        if (handler_ == nullptr) poll(origin);  // a handler's time goes on by itself
        if (is_work) origin.polled_just_now = false;
        return change_element(address_of(request.target), request);
    }
    if (shares_memory(rank_of(request.target), context.rank)) {
        spend_access(origin, address_of(request.target), access_kind::atomic);
        note_work(origin, begun);
        note_answer(origin, begun);
        return change_element(address_of(request.target), request);
    }
    transfer& made = send_atomic(origin, request);
    made.is_awaited = request.fetches;
    origin.under_way += request.fetches ? 0 : 1;
    send(origin, made, model_.atomic.of(word_bytes), message_class::read_request, word_bytes);
    if (!request.fetches) return 0;
    await_answer(origin, made, begun);
    const std::uint64_t before = made.before;
    transfers_.give_back(made);
    return before;
}

void simulation::start_atomic(detail::rank_context& context, const detail::atomic_request& request,
                              const detail::atomic_answer& answer) {
    if (is_local(ranks_[context.rank], request.target)) {
        const std::uint64_t before = atomic(context, request);
        if (answer.before != nullptr) std::memcpy(answer.before, &before, request.width);
        return count(answer.completion);
    }
    const call entered(*this, context);
    transfer& made = send_atomic(entered.rank, request);
    made.answer = answer.before;
    made.completion = answer.completion;
    ++entered.rank.under_way;
    send(entered.rank, made, model_.atomic.of(word_bytes), message_class::read_request, word_bytes);
}

/// An operation is as far as a counter of its origin counts.
void simulation::count(counter* which) {
    if (which != nullptr) change_word(counter_access::word(*which), {1, true});
}

void simulation::quiet(detail::rank_context& context) {
    const call entered(*this, context);
    rank_state& origin = entered.rank;
    const ticks begun = origin.self->now;
    while (origin.under_way != 0) stand_still(origin, standstill::quiet);
    origin.self->now = std::max(origin.self->now, origin.acknowledged_at);
    check_time(origin, origin.self->now);
    if (origin.self->now > begun) origin.polled_just_now = false;
    if (context.recorder != nullptr) note_quiet(origin, begun);
}

/// What has been sent to the target before a read of nothing has taken effect when that returns.
void simulation::quiet(detail::rank_context& context, std::uint32_t target) {
    const rank_state& origin = ranks_[context.rank];
    const bool has_some = origin.under_way != 0 || origin.acknowledged_at > origin.self->now;
    const std::uint64_t address = detail::global_address(target, 0);
    if (has_some && !is_local(origin, address)) get(context, nullptr, address, 0);
}

void simulation::note_sent(rank_state& origin, transfer_kind what, std::uint64_t bytes) {
    meters::sent_messages::amount& sent = origin.sent.by_kind[static_cast<std::size_t>(what)];
    ++sent.messages;
    sent.bytes += bytes;
}

/// What is known of a message before its processor has worked on it.
void simulation::prepare(rank_state& origin, transfer& what, const operation_regime& regime,
                         message_class kind, std::uint64_t wire_bytes) {
    if (what.what != transfer_kind::message) note_sent(origin, what.what, what.data_bytes);
    what.kind = kind;
    what.bytes = wire_bytes;
    what.regime = &regime;
    what.arrive = [](engine&, event& due) {
        transfer& here = static_cast<transfer&>(due);
        here.host->arrived(here);
    };
}

void simulation::send(rank_state& origin, transfer& what, const operation_regime& regime,
                      message_class kind, std::uint64_t wire_bytes) {
    const ticks begun = time_of(origin);
    const shown_send shown(*this, origin, what);
    prepare(origin, what, regime, kind, wire_bytes);
    spend(origin, regime.origin + regime.origin_per_byte.of(what.data_bytes));
    if (handler_ != nullptr) return leave_by_event(origin, what);
    if (what.waits_alone || leaves_later(origin, what)) {
        if (what.waits_alone) leave_by_event(origin, what);
        note_work(origin, begun);
        return;
    }
    engine_.catch_up();
    note_work(origin, begun);
    if (model_.reception.credits != 0 && !obtain_credit(origin, what)) return;
    departs(what);
    const ticks free_at = network_->inject(engine_, what);
    origin.self->now = std::max(origin.self->now, free_at);
    check_time(origin, origin.self->now);
    note_work(origin, begun);
}

/// A rank whose message needs nobody when it leaves need not be there: it runs ahead, and two
/// switches of stacks are spared. Only so often, because data wait with the message; and not where
/// ranks have handlers, which would see that their rank has sent what has not left yet.
bool simulation::leaves_later(rank_state& origin, transfer& what) {
    constexpr std::uint32_t most_leaving = 8;
    if (!leave_by_themselves_ || has_handlers_ || origin.leaving == most_leaving ||
        engine_.has_caught_up()) {
        return false;
    }
    leave_by_event(origin, what);
    return true;
}

void simulation::leave_by_event(rank_state& origin, transfer& what) {
    ++origin.leaving;
    what.act = [](engine& now, event& due) {
        transfer& leaving = static_cast<transfer&>(due);
        rank_state& from = leaving.host->ranks_[leaving.origin];
        --from.leaving;
        if (leaving.is_ahead) from.ahead = leaving.next;  // the first: a rank's own time goes on
        if (queues_behind_others(from, leaving)) return;
        leaving.host->departs(leaving);
        leaving.host->network_->inject_from_event(now, leaving);
    };
    // What a handler sends leaves behind what its rank had sent ahead to the same target.
    what.is_ahead = handler_ == nullptr;
    what.sent = time_of(origin);
    if (what.is_ahead) {
        what.next = nullptr;
        (origin.ahead == nullptr ? origin.ahead : origin.ahead_end->next) = &what;
        origin.ahead_end = &what;
    } else {
        what.sent = std::max(what.sent, sent_ahead_until(origin, what.to));
    }
    engine_.schedule(what, what.sent, *origin.self);
}

/// When the last message to a target leaves that the rank has sent ahead.
ticks simulation::sent_ahead_until(const rank_state& origin, std::uint32_t target) {
    ticks until = -1;
    for (const message* one = origin.ahead; one != nullptr; one = one->next) {
        if (one->to == target) until = static_cast<const transfer*>(one)->sent;
    }
    return until;
}

/// A request goes to the network now.
void simulation::departs(transfer& what) {
    what.sent = engine_.now();
    if (!network_->keeps_order()) ranks_[what.origin].order.note(what);
}

/// @param begun when the rank's call began.
void simulation::await_answer(rank_state& origin, transfer& what, ticks begun) {
    while (!what.is_done) stand_still(origin, standstill::answer);
    note_answer(origin, begun);
}

/// The signal or counter at the target that tells of an operation.
void simulation::raise(const transfer& what) {
    if (what.signal == detail::null_address) return;
    change_word(*reinterpret_cast<detail::shared_word*>(address_of(what.signal)), what.update);
}

void simulation::take_effect(transfer& what) {
    std::byte* const address = address_of(what.target);
    switch (what.what) {
        case transfer_kind::get:
            if (what.has_data()) std::memcpy(what.data(), address, what.data_bytes);
            raise(what);
            break;
        case transfer_kind::atomic: what.before = change_element(address, what.request); break;
        case transfer_kind::put:
            if (what.has_data()) std::memcpy(address, what.data(), what.data_bytes);
            raise(what);
            break;
        case transfer_kind::message:
            if (!begin_handling(what)) return;
            run_handler(what);
            return answer_message(what);
    }
    if (records_messages_) [[unlikely]]
        note_arrival(what);
    const bool is_acknowledged = model_.acknowledges_puts && !what.is_fleeting;
    if (!what.brings_data() && !is_acknowledged) return finish(what);
    send_answer(what);
}

/// If it can be known by now when the origin will know that its put is done, that is noted at once,
/// and one event is spared. Handlers may keep what works on acknowledgements.
bool simulation::acknowledge_unseen(transfer& what) {
    const bool is_put = what.what == transfer_kind::put && what.completion == nullptr;
    if (!acknowledges_freely_ || has_handlers_ || !is_put) return false;
    const std::optional<ticks> at = network_->send_unseen(engine_, what.to, what.from);
    if (!at) return false;
    rank_state& origin = ranks_[what.origin];
    origin.acknowledged_at = std::max(origin.acknowledged_at, *at);
    transfers_.give_back(what);
    end_operation(origin);
    return true;
}

/// The same object goes back, with data or as an acknowledgement.
void simulation::send_answer(transfer& what) {
    if (acknowledge_unseen(what)) return;
    std::swap(what.from, what.to);
    what.by_dma = false;  // the target's engine has no part in it
    what.touches = nullptr;
    what.concerns = ranks_[what.to].self;
    const bool has_data = what.brings_data();
    what.kind = !has_data                             ? message_class::control
                : what.what == transfer_kind::message ? message_class::write
                                                      : message_class::read_reply;
    what.bytes = has_data ? what.data_bytes : 0;
    what.is_answer = true;
    what.sent = engine_.now();
    if (is_local(ranks_[what.from], detail::global_address(what.to, 0))) {
        return arrive_without_wires(what, engine_.now());
    }
    network_->inject_from_event(engine_, what);
}

/// One operation less that `quiet` waits for.
void simulation::end_operation(rank_state& origin) {
    if (--origin.under_way == 0 && origin.why == standstill::quiet) {
        engine_.resume_at(*origin.self, std::max(engine_.now(), origin.acknowledged_at));
    }
}

void simulation::finish(transfer& what) {
    rank_state& origin = ranks_[what.origin];
    if (std::exchange(what.has_credit, false)) return_credit(origin, rank_of(what.target));
    if (what.answer != nullptr && what.has_data()) {
        const bool is_get = what.what == transfer_kind::get;
        std::memcpy(what.answer, is_get ? what.data() : reinterpret_cast<std::byte*>(&what.before),
                    is_get ? what.data_bytes : what.request.width);
    }
    if (what.what != transfer_kind::put && records_messages_) [[unlikely]]
        note_arrival(what);
    if (what.is_awaited) {
        what.is_done = true;
        if (origin.why == standstill::answer) engine_.resume_at(*origin.self, engine_.now());
        return;
    }
    if (what.what == transfer_kind::message) {
        if (what.has_reply) {
            if (!begin_handling(what)) return;
            run_handler(what);
        }
        return transfers_.give_back(what);
    }
    count(what.origin_counter);
    count(what.completion);
    const bool is_fleeting = what.is_fleeting;
    transfers_.give_back(what);
    if (!is_fleeting) end_operation(origin);
}

}  // namespace selion::machine::sim
