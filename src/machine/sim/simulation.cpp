// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/simulation.hpp"

#include <algorithm>

#include "machine/host.hpp"
#include "machine/sim/make_network.hpp"

namespace selion::machine::sim {
namespace {

std::unique_ptr<execution> make_execution(std::uint32_t ranks, const run_setting& setting) {
    return setting.has_threads ? make_thread_execution()
                               : make_fiber_execution(ranks, setting.stack_bytes);
}

}  // namespace

simulation::simulation(const machine_model& model, const run_setting& setting, machine& owner)
    : model_(model),
      owner_(owner),
      segments_(model.ranks, setting.heap_bytes),
      ranks_(model.ranks),
      engine_(model.ranks, make_execution(model.ranks, setting),
              [this] { end_in_deadlock(*this); }),
      network_(make_network(model_)),
      limit_bytes_(memory_limit_bytes()) {
    for (std::uint32_t number = 0; number < model.ranks; ++number) prepare(ranks_[number], number);
}

void simulation::prepare(rank_state& rank, std::uint32_t number) {
    detail::rank_context& context = rank.context;
    rank.self = &engine_.rank(number);
    rank.self->context = &context;
    context.rank = number;
    context.ranks = model_.ranks;
    context.mapped_base = segments_.slice(number);
    context.first_mapped = number;
    context.mapped_count = 1;
    context.bypass_count = 0;  // every operation takes its time
    context.stride_bytes = segments_.stride_bytes();
    context.reserve_bytes = segments_.reserve_bytes();
    context.fence_signals = false;
    context.spends_time = true;
    context.sleepers = &no_sleepers_;
    context.call = &rank.record;
    context.transport = this;
    context.clock = this;
    context.host = &owner_;
    context.group_first = number;
    context.groups = model_.ranks;
}

int simulation::run(const std::function<int(detail::rank_context&)>& body) {
    int status = 0;
    engine_.run([&](std::uint32_t number) {
        rank_state& rank = ranks_[number];
        const int own = body(rank.context);
        if (status == 0) status = own;
        publish(rank.record.has_finished, 1u);
        serve_inbox(enter(rank.context));
        rank.doing = activity::waits;
        if (follower_ != nullptr) follower_->rank_is_idle(engine_, number, rank.self->now);
    });
    return status;
}

std::byte* simulation::address_of(std::uint64_t bits) const {
    const auto rank = static_cast<std::uint32_t>((bits >> detail::offset_bits) & detail::rank_mask);
    return segments_.slice(rank) + (bits & detail::offset_mask);
}

bool simulation::commit(std::uint64_t bytes) {
    if (bytes > limit_bytes_ - std::min(committed_bytes_, limit_bytes_)) return false;
    committed_bytes_ += bytes;
    return true;
}

void simulation::discard(detail::rank_context& context, std::uint64_t offset, std::uint64_t bytes) {
    segments_.discard(context.rank, offset, bytes);
}

}  // namespace selion::machine::sim
