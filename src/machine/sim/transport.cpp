// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "machine/sim/simulation.hpp"

namespace selion::machine::sim {
namespace {

std::uint32_t rank_of(std::uint64_t bits) {
    return static_cast<std::uint32_t>((bits >> detail::offset_bits) & detail::rank_mask);
}

/// Bytes that an atomic and its answer carry.
constexpr std::uint64_t word_bytes = 8;

/// An atomic on memory that nobody else touches meanwhile. @return what was there.
std::uint64_t change_element(std::byte* address, const detail::atomic_request& request) {
    std::uint64_t before = 0;
    std::memcpy(&before, address, request.width);
    std::uint64_t after = request.operand;
    switch (request.operation) {
        case detail::atomic_operation::load: return before;
        case detail::atomic_operation::store: break;
        case detail::atomic_operation::fetch_add: after += before; break;
        case detail::atomic_operation::compare_swap:
            if (before != request.compare) return before;
            break;
    }
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
    made.by_dma = what == transfer_kind::put && model_.mesh.dma_from_bytes != 0 &&
                  bytes >= model_.mesh.dma_from_bytes;
    made.target = target;
    made.signal = detail::null_address;
    made.make_room(bytes);
    made.touches = address_of(target);
    made.concerns = ranks_[made.to].self;
    return made;
}

void simulation::put(detail::rank_context& context, std::uint64_t target, const void* source,
                     std::size_t bytes) {
    const call entered(*this, context);
    rank_state& origin = entered.rank;
    transfer& made = make_transfer(origin, transfer_kind::put, target, bytes);
    if (bytes != 0) std::memcpy(made.data(), source, bytes);
    ++origin.puts_under_way;
    send(origin, made, model_.put.of(bytes), message_class::write, bytes);
}

void simulation::put_signal(detail::rank_context& context,
                            const detail::put_signal_request& request) {
    const call entered(*this, context);
    rank_state& origin = entered.rank;
    if (rank_of(request.signal) == context.rank ||
        shares_memory(rank_of(request.signal), context.rank)) {
        return put_locally(origin, request);
    }
    transfer& made = make_transfer(origin, transfer_kind::put, request.target, request.bytes);
    if (request.bytes != 0) std::memcpy(made.data(), request.source, request.bytes);
    made.signal = request.signal;
    made.update = request.update;
    ++origin.puts_under_way;
    // A signal is a word that travels behind its data.
    const std::uint64_t wire_bytes = request.bytes + word_bytes;
    send(origin, made, (request.bytes == 0 ? model_.signal : model_.put).of(wire_bytes),
         message_class::write, wire_bytes);
}

void simulation::get(detail::rank_context& context, void* target, std::uint64_t source,
                     std::size_t bytes) {
    const call entered(*this, context);
    rank_state& origin = entered.rank;
    transfer& made = make_transfer(origin, transfer_kind::get, source, bytes);
    made.answer = target;
    send(origin, made, model_.get.of(bytes), message_class::read_request, 0);
    await_answer(origin, made);
    transfers_.give_back(made);
}

std::uint64_t simulation::atomic(detail::rank_context& context,
                                 const detail::atomic_request& request) {
    const call entered(*this, context);
    rank_state& origin = entered.rank;
    if (rank_of(request.target) == context.rank) {
        spend(origin, model_.processor.call);
        poll(origin);
        return change_element(address_of(request.target), request);
    }
    if (shares_memory(rank_of(request.target), context.rank)) {
        spend_access(origin, address_of(request.target), access_kind::atomic);
        return change_element(address_of(request.target), request);
    }
    transfer& made = make_transfer(origin, transfer_kind::atomic, request.target, word_bytes);
    made.request = request;
    send(origin, made, model_.atomic.of(word_bytes), message_class::read_request, word_bytes);
    await_answer(origin, made);
    const std::uint64_t before = made.before;
    transfers_.give_back(made);
    return before;
}

void simulation::quiet(detail::rank_context& context) {
    const call entered(*this, context);
    rank_state& origin = entered.rank;
    const ticks begun = origin.self->now;
    while (origin.puts_under_way != 0) stand_still(origin, standstill::quiet);
    origin.self->now = std::max(origin.self->now, origin.acknowledged_at);
    if (context.recorder != nullptr) note_quiet(origin, begun);
}

void simulation::send(rank_state& origin, transfer& what, const operation_regime& regime,
                      message_class kind, std::uint64_t wire_bytes) {
    const ticks begun = origin.self->now;
    const shown_send shown(*this, origin, what);
    spend(origin, regime.origin + regime.origin_per_byte.of(what.data_bytes));
    what.kind = kind;
    what.bytes = wire_bytes;
    what.regime = &regime;
    what.arrive = [](engine&, event& due) {
        transfer& here = static_cast<transfer&>(due);
        here.host->arrived(here);
    };
    if (leaves_later(origin, what)) {
        if (origin.self->now > begun) origin.polled_just_now = false;
        return;
    }
    engine_.catch_up();
    // After an operation that took time a look at the clock is the first one again.
    if (origin.self->now > begun) origin.polled_just_now = false;
    if (model_.reception.credits != 0 && !obtain_credit(origin, what)) return;
    what.sent = engine_.now();
    const ticks free_at = network_->inject(engine_, what);
    origin.self->now = std::max(origin.self->now, free_at);
    if (origin.self->now > begun) origin.polled_just_now = false;
}

/// A rank whose message needs nobody when it leaves need not be there: it runs ahead, and two
/// switches of stacks are spared. Only so often, because data wait with the message.
bool simulation::leaves_later(rank_state& origin, transfer& what) {
    constexpr std::uint32_t most_leaving = 8;
    if (!leave_by_themselves_ || origin.leaving == most_leaving || engine_.has_caught_up()) {
        return false;
    }
    ++origin.leaving;
    what.act = [](engine& now, event& due) {
        transfer& leaving = static_cast<transfer&>(due);
        --leaving.host->ranks_[leaving.origin].leaving;
        leaving.sent = now.now();
        leaving.host->network_->inject_from_event(now, leaving);
    };
    engine_.schedule(what, origin.self->now, *origin.self);
    return true;
}

void simulation::await_answer(rank_state& origin, transfer& what) {
    while (!what.is_done) stand_still(origin, standstill::answer);
}

void simulation::take_effect(transfer& what) {
    std::byte* const address = address_of(what.target);
    switch (what.what) {
        case transfer_kind::get: std::memcpy(what.data(), address, what.data_bytes); break;
        case transfer_kind::atomic: what.before = change_element(address, what.request); break;
        case transfer_kind::put:
            if (what.data_bytes != 0) std::memcpy(address, what.data(), what.data_bytes);
            if (what.signal != detail::null_address) {
                change_word(*reinterpret_cast<detail::shared_word*>(address_of(what.signal)),
                            what.update);
            }
    }
    if (records_messages_) [[unlikely]]
        note_arrival(what);
    if (what.what == transfer_kind::put && !model_.acknowledges_puts) return finish(what);
    send_answer(what);
}

/// If it can be known by now when the origin will know that its put is done, that is noted at once,
/// and one event is spared.
bool simulation::acknowledge_unseen(transfer& what) {
    if (!acknowledges_freely_ || what.what != transfer_kind::put) return false;
    const std::optional<ticks> at = network_->send_unseen(engine_, what.to, what.from);
    if (!at) return false;
    rank_state& origin = ranks_[what.origin];
    origin.acknowledged_at = std::max(origin.acknowledged_at, *at);
    transfers_.give_back(what);
    end_put(origin);
    return true;
}

/// The same object goes back, with data or as an acknowledgement.
void simulation::send_answer(transfer& what) {
    if (acknowledge_unseen(what)) return;
    std::swap(what.from, what.to);
    what.touches = nullptr;
    what.concerns = ranks_[what.to].self;
    const bool has_data = what.what != transfer_kind::put;
    what.kind = has_data ? message_class::read_reply : message_class::control;
    what.bytes = has_data ? what.data_bytes : 0;
    what.is_answer = true;
    what.sent = engine_.now();
    network_->inject_from_event(engine_, what);
}

void simulation::end_put(rank_state& origin) {
    if (--origin.puts_under_way == 0 && origin.why == standstill::quiet) {
        engine_.resume_at(*origin.self, std::max(engine_.now(), origin.acknowledged_at));
    }
}

void simulation::finish(transfer& what) {
    rank_state& origin = ranks_[what.origin];
    if (model_.reception.credits != 0) return_credit(origin, rank_of(what.target));
    if (what.what == transfer_kind::put) {
        transfers_.give_back(what);
        return end_put(origin);
    }
    if (what.what == transfer_kind::get && what.data_bytes != 0) {
        std::memcpy(what.answer, what.data(), what.data_bytes);
    }
    if (records_messages_) [[unlikely]]
        note_arrival(what);
    what.is_done = true;
    if (origin.why == standstill::answer) engine_.resume_at(*origin.self, engine_.now());
}

}  // namespace selion::machine::sim
