// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/wires/crossbar_network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "machine/sim/wires/port.hpp"

namespace selion::machine::sim {
namespace {

class crossbar_network final : public network {
public:
    crossbar_network(const crossbar_model& model, std::uint32_t ports)
        : model_(model), out_(ports), in_(ports) {}

    ticks inject(engine& host, message& what) override {
        inject_from_event(host, what);
        return host.now();  // the port sends by itself
    }
    std::optional<ticks> send_unseen(engine& host, std::uint32_t from, std::uint32_t to) override {
        const ticks now = host.now();
        if (out_[from].free_at > now) return {};
        out_[from].take(0, now, model_.gap);
        return in_[to].take(0, now + model_.latency, model_.gap);
    }
    bool frees_senders() const override { return true; }

    void inject_from_event(engine& host, message& what) override {
        const ticks start = out_[what.from].take(what.bytes, host.now(), occupancy(what.bytes));
        if (start == host.now()) return depart(host, what);
        // Targets' ports are taken in the order of departures, so one that has to wait for its own
        // port must not take the other yet.
        what.act = [](engine& later, event& due) {
            message& departing = static_cast<message&>(due);
            departing.wires<crossbar_network>().depart(later, departing);
        };
        what.owner = this;
        host.schedule(what, start, host.rank(what.from));
    }

    std::vector<link_use> links() const override {
        std::vector<link_use> all;
        for (std::size_t i = 0; i < out_.size(); ++i) {
            all.push_back(out_[i].use(fmt::format("rank {} out", i)));
            all.push_back(in_[i].use(fmt::format("rank {} in", i)));
        }
        return all;
    }

private:
    /// The first byte leaves now, flows into the target's port as soon as that is free, and the
    /// last one follows.
    void depart(engine& host, message& what) {
        const ticks first_byte = host.now() + model_.latency;
        const ticks start = in_[what.to].take(what.bytes, first_byte, occupancy(what.bytes));
        what.act = what.arrive;
        host.schedule(what, start + model_.per_byte.of(what.bytes) + packets(what.bytes),
                      host.rank(what.from));
    }

    /// Gaps between the packets of one message.
    ticks packets(std::uint64_t bytes) const {
        if (model_.packet_bytes == 0 || bytes == 0) return 0;
        return multiple((bytes - 1) / model_.packet_bytes, model_.packet_gap);
    }

    ticks occupancy(std::uint64_t bytes) const {
        return std::max(model_.gap, model_.per_byte.of(bytes) + packets(bytes));
    }

    crossbar_model model_;
    std::vector<port> out_;
    std::vector<port> in_;
};

}  // namespace

std::unique_ptr<network> make_crossbar_network(const crossbar_model& model, std::uint32_t ports) {
    return std::make_unique<crossbar_network>(model, ports);
}

}  // namespace selion::machine::sim
