// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "machine/sim/simulation.hpp"
#include "meters/record/recorder.hpp"

/// What a simulation records: the way of each message, by arrows from the slice that sends it to a
/// slice beside the track of the rank where it takes effect. Looking at time for a record takes no
/// time, and nothing here changes what the engine does.
namespace selion::machine::sim {
namespace {

std::string_view name_of(const transfer& what) {
    switch (what.what) {
        case transfer_kind::get: return "get";
        case transfer_kind::atomic: return "atomic";
        case transfer_kind::message: return "message";
        case transfer_kind::put: break;
    }
    return what.data_bytes == 0 && what.signal != detail::null_address ? "signal" : "put";
}

}  // namespace

std::int64_t simulation::stamp_ps() { return model_.tick.to_ps(stamp_ticks()); }

void simulation::shown_send::begin(rank_state& origin, transfer& what, bool is_alone) {
    what.flow = ++host_.flows_;
    meters::recorder* const own = origin.context.recorder;
    if (own == nullptr) return;
    // An operation has a slice already, of one arrow; else it is a message of the library's own.
    if (is_alone && own->begin_flow(what.flow)) return;
    origin_ = &origin;
    what_ = {.name = "send",
             .start_ps = host_.model_.tick.to_ps(host_.time_of(origin)),
             .kind = meters::slice_kind::message,
             .bytes = what.data_bytes,
             .peer = what.to,
             .flow_out = what.flow};
}

void simulation::shown_send::end() const {
    meters::occurrence done = what_;
    done.end_ps = host_.model_.tick.to_ps(host_.time_of(*origin_));
    origin_->context.recorder->draw(done);
}

/// A message has taken effect: a request at its target, or an answer at its origin.
void simulation::note_arrival(transfer& what) {
    meters::recorder* const own = ranks_[what.to].context.recorder;
    const meters::flow_id came = what.flow;
    meters::flow_id leaves = 0;
    if (!what.is_answer && what.brings_data()) leaves = what.flow = ++flows_;
    if (own == nullptr) return;
    if (what.signal != detail::null_address) leaves = flow_of(what.signal);
    const ticks now = engine_.now();
    own->draw({.name = what.is_answer ? "answer" : name_of(what).data(),
               .start_ps = model_.tick.to_ps(now - what.cost),
               .end_ps = model_.tick.to_ps(now),
               .kind = meters::slice_kind::arrival,
               .bytes = what.data_bytes,
               .peer = what.from,
               .flow_in = came,
               .flow_out = leaves});
}

/// The arrow to the wait that a word's present value ends; 0 where nobody records.
meters::flow_id simulation::flow_of(std::uint64_t signal) const {
    const meters::recorder* const own = ranks_[detail::rank_of(signal)].context.recorder;
    if (own == nullptr) return 0;
    const auto& word = *reinterpret_cast<const detail::shared_word*>(address_of(signal));
    return meters::flow_of_signal(signal, word.value, own->era());
}

void simulation::note_signal(const rank_state& rank, std::uint64_t signal) const {
    if (rank.context.recorder != nullptr) rank.context.recorder->begin_flow(flow_of(signal));
}

void simulation::note_wait(const rank_state& rank, const wait_request& request, ticks begun) const {
    const auto* const place = reinterpret_cast<const std::byte*>(&request.word);
    const auto distance = static_cast<std::uint64_t>(place - segments_.slice(0));
    const std::uint64_t owner = distance / segments_.stride_bytes();
    const std::uint64_t offset = distance % segments_.stride_bytes();
    // Words of the library's own memory are nobody's signals, and who stores to a word of a
    // collective in memory that he shares does not say who he is.
    const bool is_told = request.reason == wait_reason::signal || rank.context.simulated == nullptr;
    const bool is_signal = is_told && owner < ranks_.size() && offset < segments_.reserve_bytes();
    const bool has_come = is_signal && request.word.value >= request.at_least;
    rank.context.recorder->record(
        {.name = selion::machine::name_of(request.reason).data(),
         .start_ps = model_.tick.to_ps(begun),
         .end_ps = model_.tick.to_ps(rank.self->now),
         .kind = meters::slice_kind::wait,
         .flow_in = has_come ? flow_of(detail::global_address(owner, offset)) : 0});
}

/// Part of a `quiet`, and of a barrier before ranks wait for each other.
void simulation::note_quiet(const rank_state& rank, ticks begun) const {
    if (rank.self->now == begun) return;
    rank.context.recorder->record({.name = "wait: quiet",
                                   .start_ps = model_.tick.to_ps(begun),
                                   .end_ps = model_.tick.to_ps(rank.self->now),
                                   .kind = meters::slice_kind::wait});
}

meters::network_use simulation::network_use() const {
    meters::network_use all;
    ticks end = engine_.now();
    for (const rank_state& rank : ranks_) end = std::max(end, rank.self->now);
    for (link_use& link : network_->links()) {
        // A run may end while messages are under way, and wires count those that have left.
        end = std::max(end, link.until);
        all.links.push_back({std::move(link.name), link.messages, link.bytes,
                             model_.tick.to_ps(link.busy), model_.tick.to_ps(link.waiting)});
    }
    all.run_ps = model_.tick.to_ps(end);
    return all;
}

}  // namespace selion::machine::sim
