// SPDX-License-Identifier: Apache-2.0
#include "machine/node/node_machine.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/units.hpp"
#include "machine/process/failure.hpp"

namespace selion::machine::node {

selion::thread_level node_machine::thread_level() const {
    return static_cast<selion::thread_level>(mapping_->control().thread_level);
}

void node_machine::use(shared_mapping mapping, std::uint32_t process) {
    mapping_.emplace(std::move(mapping));
    memory_ = std::make_unique<mapped_memory>(*mapping_);
    ranks_ = std::make_unique<rank_host>(setting_, *mapping_, *this, process);
    // release: the ranks; pairs with who ends them [node.used]
    used_.store(ranks_.get(), std::memory_order_release);
}

void node_machine::end_job(const failure& why) {
    // acquire: pairs with `use`, perhaps of another thread [node.used]
    rank_host* const ranks = used_.load(std::memory_order_acquire);
    if (ranks != nullptr) ranks->end_job(why);
    announce(why);
    flush_and_leave(1);
}

waiter* node_machine::join_thread(detail::rank_context& context) {
    return ranks_->join_thread(context);
}

void node_machine::leave_thread(waiter* own) { ranks_->leave_thread(own); }

bool node_machine::call_beside(detail::rank_context& context,
                               void (*function)(detail::rank_context&, void*), void* argument) {
    return ranks_->call_beside(context, function, argument);
}

std::uint32_t node_machine::place_of(const detail::rank_context& context, locality where) {
    return ranks_->place_of(context, where);
}

std::string node_machine::binding_report() const { return ranks_->binding_report(); }

void node_machine::say_choices() const {
    const node_shape& shape = setting_.shape;
    if (shape.fibers_by_default) {
        base::say_verbose(fmt::format(
            "{}: {} ranks run as fibers on {} threads, because {} cores are usable",
            setting_.description.spec, shape.ranks(), shape.carriers(), usable_cores()));
    } else if (shape.carriers() > usable_cores()) {
        base::say_verbose(fmt::format("{}: {} ranks share {} cores; waiting ranks yield early",
                                      setting_.description.spec, shape.ranks(), usable_cores()));
    }
    const control_block& control = mapping_->control();
    base::say_verbose(
        fmt::format("{}: {} ranks, {} of symmetric memory reserved for each, {} of memory, {}, {}",
                    setting_.description.spec, control.ranks,
                    base::bytes_text(control.reserve_bytes), base::bytes_text(control.memory_limit),
                    setting_.binding.empty() ? "threads free to move" : "threads bound to cores",
                    control.fence_signals != 0 ? "signals with fences" : "signals without fences"));
}

}  // namespace selion::machine::node
