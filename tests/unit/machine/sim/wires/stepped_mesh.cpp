// SPDX-License-Identifier: Apache-2.0
#include "unit/machine/sim/wires/stepped_mesh.hpp"

#include <algorithm>

namespace selion::machine::sim {

stepped_mesh::stepped_mesh(const mesh_model& model)
    : model_(model), routers_(std::size_t{model.rows} * model.columns) {
    const ticks longest = std::max(model.hop, model.entry);
    std::size_t on_link = 0;
    while (static_cast<ticks>(on_link) * model.slot < longest) ++on_link;
    capacity_ = on_link + model.queue_slots;
}

stepped_mesh::result stepped_mesh::deliver(const std::deque<sample>& plan) {
    for (std::size_t i = 0; i < plan.size(); ++i) {
        routers_[plan[i].from].unsent.emplace_back(i, &plan[i]);
    }
    missing_.assign(plan.size(), 1);
    under_way_ = plan.size();
    return run();
}

stepped_mesh::result stepped_mesh::copy(const std::vector<std::vector<copy_loop>>& programs) {
    for (const auto& program : programs) {
        core& added = cores_.emplace_back();
        added.program = program;
        added.first_number = missing_.size();
        for (const copy_loop& loop : program) missing_.push_back(loop.stores);
        if (!program.empty()) added.ready = model_.loop_entry + store_cost(program[0], 0);
    }
    under_way_ = missing_.size();
    return run();
}

stepped_mesh::result stepped_mesh::run() {
    result_.arrived.assign(missing_.size(), -1);
    result_.busy.assign(routers_.size() * outputs, 0);
    result_.idle.assign(routers_.size() * outputs, 0);
    for (now_ = 0; under_way_ != 0; ++now_) {
        let_arrive();
        for (router& each : routers_) let_events_send(each);
        for (std::uint32_t node = 0; node < cores_.size(); ++node) {
            let_core_send(cores_[node], routers_[node]);
        }
        std::vector<decision> all;
        for (std::uint32_t node = 0; node < routers_.size(); ++node) decide(node, all);
        for (const decision& made : all) carry_out(made);
        count_links();
    }
    result_.end = now_;
    return result_;
}

bool stepped_mesh::has_room(const buffer& where, std::size_t needed) const {
    const std::size_t leaving = now_ < where.gives_until ? 1 : 0;
    return where.coming.size() + where.waiting.size() + leaving + needed <= capacity_;
}

void stepped_mesh::let_arrive() {
    for (router& each : routers_) {
        for (buffer& in : each.in) {
            while (!in.coming.empty() && in.coming.front().arrives <= now_) {
                in.waiting.push_back(in.coming.front());
                in.coming.pop_front();
            }
        }
    }
}

stepped_mesh::packet stepped_mesh::packet_to(std::size_t number, std::uint32_t node) const {
    return {number, node / model_.columns, node % model_.columns, now_ + model_.entry};
}

void stepped_mesh::let_events_send(router& at) {
    if (at.unsent.empty() || now_ < at.events_free_at || !has_room(at.in[events], 1)) return;
    const auto [number, what] = at.unsent.front();
    if (what->sent > now_) return;
    at.in[events].coming.push_back(packet_to(number, what->to));
    at.events_free_at = now_ + model_.slot;
    at.unsent.pop_front();
}

ticks stepped_mesh::store_cost(const copy_loop& loop, std::uint32_t store) const {
    if (model_.loop_unroll == 1) return model_.remainder_store;
    const std::uint32_t remainder = (loop.stores - 1) % model_.loop_unroll + 1;
    return store < loop.stores - remainder ? model_.unrolled_store : model_.remainder_store;
}

void stepped_mesh::let_core_send(core& of, router& at) {
    if (of.put == of.program.size() || now_ < of.ready) return;
    if (now_ < at.stores_free_at || !has_room(at.in[stores], 1)) {
        ++result_.stalled;
        return;
    }
    const copy_loop& loop = of.program[of.put];
    at.in[stores].coming.push_back(packet_to(of.first_number + of.put, loop.to));
    at.stores_free_at = now_ + model_.slot;
    of.ready = now_;
    if (++of.store == loop.stores) {
        of.store = 0;
        of.ready += model_.loop_entry;
        ++of.put;
    }
    if (of.put < of.program.size()) of.ready += store_cost(of.program[of.put], of.store);
}

/// Along the row, then along the column.
int stepped_mesh::output_of(std::uint32_t node, const packet& what) const {
    const auto side = [this](std::uint32_t here, std::uint32_t there, std::uint32_t length) {
        if (here == there) return 0;
        if (!model_.wraps_around) return there > here ? 1 : -1;
        const std::uint32_t up = (there + length - here) % length;
        return 2 * up <= length ? 1 : -1;
    };
    const int across = side(node % model_.columns, what.column, model_.columns);
    if (across != 0) return across > 0 ? 0 : 2;
    const int down = side(node / model_.columns, what.row, model_.rows);
    if (down != 0) return down > 0 ? 1 : 3;
    return memory;
}

std::uint32_t stepped_mesh::next_node(std::uint32_t node, int direction) const {
    std::uint32_t row = node / model_.columns;
    std::uint32_t column = node % model_.columns;
    if (direction == 0) column = (column + 1) % model_.columns;
    if (direction == 1) row = (row + 1) % model_.rows;
    if (direction == 2) column = (column + model_.columns - 1) % model_.columns;
    if (direction == 3) row = (row + model_.rows - 1) % model_.rows;
    return row * model_.columns + column;
}

bool stepped_mesh::may_go(std::uint32_t node, int input, int output) const {
    const buffer& in = routers_[node].in[input];
    if (in.waiting.empty() || now_ < in.gives_until) return false;
    if (output_of(node, in.waiting.front()) != output) return false;
    if (output == memory) return true;
    const bool enters_ring = model_.wraps_around && input != output;
    return has_room(routers_[next_node(node, output)].in[output], enters_ring ? 2 : 1);
}

/// Round-robin from the input behind the last winner.
void stepped_mesh::decide(std::uint32_t node, std::vector<decision>& all) {
    for (int output = 0; output < outputs; ++output) {
        port& out = routers_[node].out[output];
        if (now_ < out.free_at) continue;
        for (int k = 1; k <= inputs; ++k) {
            const int input = (static_cast<int>(out.turn) + k) % inputs;
            if (!may_go(node, input, output)) continue;
            all.push_back({node, input, output});
            break;
        }
    }
}

void stepped_mesh::carry_out(const decision& made) {
    router& here = routers_[made.node];
    buffer& in = here.in[made.input];
    packet what = in.waiting.front();
    in.waiting.pop_front();
    in.gives_until = now_ + model_.slot;
    here.out[made.output].free_at = now_ + model_.slot;
    here.out[made.output].turn = static_cast<std::uint32_t>(made.input);
    result_.waited += now_ - what.arrives;
    if (made.output != memory) {
        what.arrives = now_ + model_.hop;
        routers_[next_node(made.node, made.output)].in[made.output].coming.push_back(what);
    } else if (--missing_[what.number] == 0) {
        result_.arrived[what.number] = now_;
        --under_way_;
    }
}

void stepped_mesh::count_links() {
    for (std::size_t node = 0; node < routers_.size(); ++node) {
        for (std::size_t output = 0; output < outputs; ++output) {
            const bool is_busy = now_ < routers_[node].out[output].free_at;
            ++(is_busy ? result_.busy : result_.idle)[node * outputs + output];
        }
    }
}

}  // namespace selion::machine::sim
