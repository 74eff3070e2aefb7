// SPDX-License-Identifier: Apache-2.0
#include "selion/world.hpp"

#include <atomic>

#include "machine/call_record.hpp"
#include "machine/machine.hpp"
#include "machine/process/run_history.hpp"
#include "meters/record/recorder.hpp"
#include "onesided/message_state.hpp"
#include "world/world_state.hpp"

namespace selion {
namespace detail {

world_state::world_state(rank_context& context, meters::recorder* recorder)
    : heap(context, collectives::runtime_bytes + onesided::block_bytes),
      everybody(context, collectives::team_members(context)),
      teams(std::make_shared<collectives::team_register>(context)) {
    context.inbox = &inbox;
    context.started = &started;
    auto& above = context.messages->above;
    above.argument = &started;
    above.move = [](void* all) { static_cast<collectives::started_collectives*>(all)->advance(); };
    above.go_on = [](void* all, rank_context& caller) {
        static_cast<collectives::started_collectives*>(all)->go_on(caller);
    };
    context.job = machine::job_number();
    context.store_offset = collectives::runtime_bytes;
    const bool interrupts =
        context.host->description().capabilities.progress == progress_kind::interrupt;
    context.has_one_thread = context.host->thread_level() == thread_level::single &&
                             (!interrupts || context.spends_time);
    context.own.counts_alone = context.has_one_thread;
    context.recorder = recorder;
    context.heap = &heap;
    context.world = this;
    // While operations are recorded they must come by the slow path.
    if (recorder != nullptr) context.bypass_count = context.own.signal_count = 0;
    // Where time is virtual a comparison takes none.
    context.compares_calls |= context.calls != nullptr;
    const bool is_plain = recorder == nullptr && context.simulated == nullptr &&
                          context.deaths == nullptr && !context.compares_calls;
    if (is_plain) context.own.plain_caller = &context;
    // release: what a handler may use; pairs with who serves the rank's messages [rank.begun]
    std::atomic_ref(context.call->has_begun).store(1, std::memory_order_release);
}

team_view everybody(rank_context& context) {
    collectives::team_state& all = state_of(context).everybody;
    return {.context = &context,
            .state = &all,
            .rank = context.rank,
            .size = context.ranks,
            .centre = &all.meeting().centre()};
}

}  // namespace detail

world::world(detail::rank_context& context) noexcept : team(detail::everybody(context)) {}

std::int64_t world::now() const { return context().clock->now_ns(); }

std::int64_t world::now_ps() const { return context().clock->now_ps(); }

const machine_description& world::machine() const { return context().host->description(); }

selion::thread_level world::thread_level() const { return context().host->thread_level(); }

progress_kind world::progress() const { return machine().capabilities.progress; }

heap_usage world::heap() const {
    detail::state_of(context()).started.let_go();
    detail::state_of(context()).teams->settle();
    const onesided::symmetric_heap& heap = *context().heap;
    return {heap.used_bytes(), heap.reachable_bytes(), heap.runtime_used_bytes()};
}

std::string world::binding_report() const { return context().host->launcher().binding_report(); }

}  // namespace selion
