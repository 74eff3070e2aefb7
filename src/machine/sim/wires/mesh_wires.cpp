// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/wires/mesh_wires.hpp"

#include <algorithm>

#include "machine/sim/wires/mesh_train.hpp"

namespace selion::machine::sim {

mesh_wires::mesh_wires(const mesh_model& model)
    : model_(model),
      layout_(model),
      slot_(slot_of(model)),
      sources_(std::size_t{layout_.nodes()} * sources_per_node),
      last_reply_(layout_.nodes()) {}

ticks mesh_wires::inject(engine& host, message& what) {
    if (what.kind != message_class::write || what.by_dma) {
        inject_from_event(host, what);
        return host.now();
    }
    what.sender = &host.current();
    // Behind what handlers of the rank have sent and is still there: order is kept.
    const bool has_others = source_of(what.from * links_per_node + from_events).first != nullptr;
    const ticks gone = begin(host, what, has_others ? from_events : from_core);
    if (gone != end_of_time) return gone;
    host.suspend();  // `what` may have arrived and may be gone when this returns
    return host.current().now;
}

void mesh_wires::inject_from_event(engine& host, message& what) {
    if (what.kind == message_class::read_request || what.kind == message_class::read_reply) {
        return read(host, what);
    }
    what.sender = nullptr;
    begin(host, what, what.by_dma ? from_dma : from_events);
}

bool mesh_wires::line_up(std::uint32_t port, message& what, ticks now) {
    source& queue = source_of(port);
    what.next = nullptr;
    what.entered = now;
    const bool is_first = queue.first == nullptr;
    (is_first ? queue.first : queue.last->next) = &what;
    queue.last = &what;
    return is_first;
}

/// A DMA engine starts its next transfer when the last one has gone; answers are ready at once.
ticks mesh_wires::start_of_work(std::uint32_t port) {
    const source& queue = source_of(port);
    const ticks asked = queue.first->entered;
    return port % links_per_node == from_dma ? std::max(asked, queue.free_at - slot_) : asked;
}

/// A load stops its core until its word is there, so several words take several times as long: the
/// answer brings the time of all but the first. A core takes its answers one after another.
void mesh_wires::read(engine& host, message& what) {
    const ticks word =
        model_.read_entry + multiple(layout_.way(what.from, what.to).hops(), model_.read_hop);
    ticks taken = word / 2;
    if (what.kind == message_class::read_reply) {
        const std::uint64_t width = mesh_train::bytes_of_store(model_, what);
        const std::uint64_t words = std::max<std::uint64_t>((what.bytes + width - 1) / width, 1);
        taken = word - taken + multiple(words - 1, word);
    }
    ticks at = host.now() + taken;
    if (what.kind == message_class::read_reply) {
        ticks& last = last_reply_[what.to];
        last = at = std::max(at, last);
    }
    what.act = what.arrive;
    host.schedule(what, at, host.rank(what.from));
}

std::vector<link_use> mesh_wires::links() const {
    std::vector<link_use> all;
    for (std::uint32_t link = 0; link < layout_.nodes() * links_per_node; ++link) {
        if (!layout_.exists(link / links_per_node, link % links_per_node)) continue;
        const mesh_link_count& carried = count(link);
        const ticks busy = multiple(carried.transactions, slot_);
        // One transaction after another: not before that is it free for good.
        all.push_back({.name = layout_.name(link),
                       .messages = carried.transactions,
                       .bytes = carried.bytes,
                       .busy = busy,
                       .waiting = carried.waiting,
                       .until = busy});
    }
    return all;
}

}  // namespace selion::machine::sim
