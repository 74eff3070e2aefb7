// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/wires/mesh_network.hpp"

#include <algorithm>
#include <utility>

#include "machine/sim/wires/mesh_switches.hpp"
#include "machine/sim/wires/mesh_train.hpp"
#include "machine/sim/wires/mesh_wires.hpp"

namespace selion::machine::sim {
namespace {

class mesh_network final : public mesh_wires {
public:
    explicit mesh_network(const mesh_model& model) : mesh_wires(model), switches_(model) {
        step_.owner = this;
        step_.act = [](engine& host, event& due) {
            static_cast<step_event&>(due).owner->step(host);
        };
        wires_.next_order = after_all_ranks;
    }

    std::optional<meters::router_events> router_events(std::uint32_t rank,
                                                       ticks now) const override;

private:
    struct step_event : event {
        mesh_network* owner = nullptr;
    };

    /// Above the orders of all ranks: in one tick the wires come last.
    static constexpr std::uint64_t after_all_ranks = ((std::uint64_t{1} << 20) - 1) << 44;

    ticks begin(engine& host, message& what, mesh_link which) override;
    const mesh_link_count& count(std::uint32_t link) const override {
        return switches_.count(link);
    }
    ticks send(engine& host, std::uint32_t port, ticks now);
    void begin_first(std::uint32_t port);
    void step(engine& host);
    void schedule_step(engine& host);

    mesh_switches switches_;
    step_event step_;
    ticks step_at_ = 0;
    task wires_;  ///< no rank: the cause of steps
};

ticks mesh_network::begin(engine& host, message& what, mesh_link which) {
    const std::uint32_t port = what.from * links_per_node + which;
    if (!line_up(port, what, host.now())) return end_of_time;
    task* const sender = std::exchange(what.sender, nullptr);  // it is not suspended
    begin_first(port);
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
        mesh_train train(model(), what, static_cast<mesh_link>(port % links_per_node));
        const mesh_way way = layout().way(what.from, what.to);
        while (!train.is_at_end()) {
            if (!switches_.has_room(port)) {
                switches_.await_room(port);
                return end_of_time;
            }
            gone = std::min(std::max({train.ready(), queue.free_at, now}), out_of_reach);
            switches_.enter(port, {&what, 0, train.bytes(), way}, gone, {train.ready(), now});
            queue.free_at = gone + slot();
            train.go_on(gone);
        }
        if (what.sender != nullptr) host.resume_at(*what.sender, gone);
        queue.first = what.next;
        if (queue.first != nullptr) begin_first(port);
    }
    return gone;
}

void mesh_network::begin_first(std::uint32_t port) {
    const auto which = static_cast<mesh_link>(port % links_per_node);
    mesh_train(model(), *source_of(port).first, which).begin(start_of_work(port));
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
    host.cancel(step_);
    host.schedule(step_, next, wires_);
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

}  // namespace

std::unique_ptr<network> make_mesh_network(const mesh_model& model) {
    return std::make_unique<mesh_network>(model);
}

}  // namespace selion::machine::sim
