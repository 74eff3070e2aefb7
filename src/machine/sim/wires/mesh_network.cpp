// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/wires/mesh_network.hpp"

#include <algorithm>
#include <utility>

#include "machine/sim/wires/mesh_switches.hpp"
#include "machine/sim/wires/mesh_train.hpp"

namespace selion::machine::sim {
namespace {

/// Trains that leave by one port, one after the other.
struct source {
    message* first = nullptr;
    message* last = nullptr;
    ticks free_at = 0;  ///< a slot after its last transaction
};

class mesh_network final : public network {
public:
    explicit mesh_network(const mesh_model& model)
        : model_(model),
          switches_(model),
          sources_(std::size_t{switches_.layout().nodes()} * sources_per_node) {
        step_.owner = this;
        step_.act = [](engine& host, event& due) {
            static_cast<step_event&>(due).owner->step(host);
        };
        wires_.next_order = after_all_ranks;
    }

    ticks inject(engine& host, message& what) override {
        if (what.kind != message_class::write || what.by_dma) {
            inject_from_event(host, what);
            return host.now();
        }
        what.sender = &host.current();
        // Behind what handlers of the rank have sent and is still there: order is kept.
        const bool has_others =
            source_of(what.from * links_per_node + from_events).first != nullptr;
        const ticks gone = begin(host, what, has_others ? from_events : from_core);
        if (gone != end_of_time) return gone;
        host.suspend();  // `what` may have arrived and may be gone when this returns
        return host.current().now;
    }

    void inject_from_event(engine& host, message& what) override {
        if (what.kind == message_class::read_request || what.kind == message_class::read_reply) {
            return read(host, what);
        }
        what.sender = nullptr;
        begin(host, what, what.by_dma ? from_dma : from_events);
    }

    std::vector<link_use> links() const override;

    std::optional<meters::router_events> router_events(std::uint32_t rank,
                                                       ticks now) const override;

    ticks stalls(std::uint32_t rank) const override {
        return switches_.count(rank * links_per_node + from_core).waiting;
    }

private:
    struct step_event : event {
        mesh_network* owner = nullptr;
    };

    static constexpr std::uint32_t sources_per_node = into_core - from_core;
    /// Above the orders of all ranks: in one tick the wires come last.
    static constexpr std::uint64_t after_all_ranks = ((std::uint64_t{1} << 20) - 1) << 44;

    source& source_of(std::uint32_t port) {
        return sources_[port / links_per_node * sources_per_node +
                        (port % links_per_node - from_core)];
    }

    ticks begin(engine& host, message& what, mesh_link which);
    ticks send(engine& host, std::uint32_t port, ticks now);
    void begin_next(std::uint32_t port);
    void step(engine& host);
    void schedule_step(engine& host);
    void read(engine& host, message& what) const;

    mesh_model model_;
    mesh_switches switches_;
    std::vector<source> sources_;
    step_event step_;
    ticks step_at_ = 0;
    task wires_;  ///< no rank: the cause of steps
};

/// @return when its last transaction leaves; `end_of_time` if that is not known yet.
ticks mesh_network::begin(engine& host, message& what, mesh_link which) {
    const std::uint32_t port = what.from * links_per_node + which;
    source& queue = source_of(port);
    task* const sender = what.sender;
    what.next = nullptr;
    what.entered = host.now();
    if (queue.first != nullptr) {
        queue.last = queue.last->next = &what;
        return end_of_time;
    }
    queue.first = queue.last = &what;
    mesh_train(model_, what, which).begin(host.now());
    what.sender = nullptr;  // it is not suspended
    const ticks gone = send(host, port, host.now());
    what.sender = sender;
    schedule_step(host);
    return gone;
}

/// Lets trains of a port go on as long as its link has room. A place that is free now stays free
/// until this port takes it, so transactions that will only be ready later are settled as well.
/// Whoever is suspended until its train has left goes on then.
/// @return when the last train left entirely; `end_of_time` if one is still there.
ticks mesh_network::send(engine& host, std::uint32_t port, ticks now) {
    source& queue = source_of(port);
    ticks gone = end_of_time;
    while (queue.first != nullptr) {
        message& what = *queue.first;
        mesh_train train(model_, what, static_cast<mesh_link>(port % links_per_node));
        const mesh_way way = switches_.layout().way(what.from, what.to);
        while (!train.is_at_end()) {
            if (!switches_.has_room(port)) {
                switches_.await_room(port);
                return end_of_time;
            }
            gone = std::max({train.ready(), queue.free_at, now});
            switches_.enter(port, {&what, 0, train.bytes(), way}, gone, gone - train.ready());
            queue.free_at = gone + switches_.slot();
            train.go_on(gone);
        }
        if (what.sender != nullptr) host.resume_at(*what.sender, gone);
        queue.first = what.next;
        if (queue.first != nullptr) begin_next(port);
    }
    return gone;
}

/// A DMA engine starts its next transfer when the last one has gone; answers are ready at once.
void mesh_network::begin_next(std::uint32_t port) {
    const source& queue = source_of(port);
    const auto which = static_cast<mesh_link>(port % links_per_node);
    const ticks gone = queue.free_at - switches_.slot();
    const ticks asked = queue.first->entered;
    mesh_train(model_, *queue.first, which)
        .begin(which == from_dma ? std::max(asked, gone) : asked);
}

void mesh_network::step(engine& host) {
    const ticks now = host.now();
    do {
        switches_.advance(now);
        for (const std::uint32_t port : switches_.freed_ports()) {
            send(host, port, now);
        }
        for (message* const what : switches_.delivered()) {
            if (--what->slots_left != 0) continue;
            what->act = what->arrive;
            host.schedule(*what, now, host.rank(what->from));
        }
        switches_.clear_reports();
    } while (switches_.next() == now);
    schedule_step(host);
}

void mesh_network::schedule_step(engine& host) {
    const ticks next = switches_.next();
    if (next == end_of_time || (engine::is_armed(step_) && step_at_ <= next)) return;
    step_at_ = next;
    host.schedule(step_, next, wires_);
}

/// A load stops its core until its word is there, so several words take several times as long: the
/// answer brings the time of all but the first.
void mesh_network::read(engine& host, message& what) const {
    const auto hops = static_cast<ticks>(switches_.layout().way(what.from, what.to).hops());
    const ticks word = model_.read_entry + model_.read_hop * hops;
    ticks taken = word / 2;
    if (what.kind == message_class::read_reply) {
        const std::uint64_t width = mesh_train::bytes_of_store(model_, what);
        const std::uint64_t words = std::max<std::uint64_t>((what.bytes + width - 1) / width, 1);
        taken = word - taken + static_cast<ticks>(words - 1) * word;
    }
    what.act = what.arrive;
    host.schedule(what, host.now() + taken, host.rank(what.from));
}

std::optional<meters::router_events> mesh_network::router_events(std::uint32_t rank,
                                                                 ticks now) const {
    using meters::router_port;
    static constexpr std::pair<router_port, mesh_link> links_at[] = {{router_port::core, from_core},
                                                                     {router_port::east, east},
                                                                     {router_port::south, south},
                                                                     {router_port::west, west},
                                                                     {router_port::north, north}};
    const mesh_waits& waits = switches_.waits();
    meters::router_events seen;
    for (const auto& [port, which] : links_at) {
        const auto i = static_cast<std::size_t>(port);
        const std::uint32_t link = rank * links_per_node + which;
        seen.waits[i] =
            port == router_port::core ? waits.of_core(rank) : waits.of_output(link, now);
        seen.accesses[i] = switches_.count(link).transactions;
        seen.bytes[i] = switches_.count(link).bytes;
    }
    seen.any_wait = waits.of_any(rank, now);
    return seen;
}

std::vector<link_use> mesh_network::links() const {
    std::vector<link_use> all;
    const mesh_layout& layout = switches_.layout();
    for (std::uint32_t link = 0; link < layout.nodes() * links_per_node; ++link) {
        const mesh_switches::link_count& count = switches_.count(link);
        if (!layout.exists(link / links_per_node, link % links_per_node)) continue;
        all.push_back({layout.name(link), count.transactions, count.bytes,
                       static_cast<ticks>(count.transactions) * switches_.slot(), count.waiting});
    }
    return all;
}

}  // namespace

std::unique_ptr<network> make_mesh_network(const mesh_model& model) {
    return std::make_unique<mesh_network>(model);
}

}  // namespace selion::machine::sim
