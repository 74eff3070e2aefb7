// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/wires/torus_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "machine/sim/wires/port.hpp"

namespace selion::machine::sim {
namespace {

/// While a message is on its way `at` is its node, `step` the node where it ends, `slots_left` the
/// link that it took last.
class torus_network final : public network {
public:
    torus_network(const torus_model& model, std::uint32_t endpoints,
                  std::vector<std::uint32_t> node_of_rank)
        : model_(model),
          node_of_rank_(std::move(node_of_rank)),
          links_(nodes(model_) * links_per_node()),
          out_(endpoints),
          in_(endpoints),
          last_end_(links_.size() + endpoints, 0) {}

    ticks inject(engine& host, message& what) override {
        inject_from_event(host, what);
        return host.now();  // the port sends by itself
    }
    bool frees_senders() const override { return true; }

    void inject_from_event(engine& host, message& what) override {
        what.owner = this;
        what.at = node_of(what.from);
        what.step = node_of(what.to);
        what.slots_left = static_cast<std::uint32_t>(links_.size() + what.at);  // no link yet
        const ticks start = out_[what.at].take(what.bytes, host.now(), model_.gap);
        what.act = [](engine& later, event& due) {
            message& moving = static_cast<message&>(due);
            moving.wires<torus_network>().move(later, moving);
        };
        // The head leaves its node so late that the whole way takes `entry` more than its hops.
        host.schedule(what, start + model_.entry, host.rank(what.from));
    }

    std::vector<link_use> links() const override;

private:
    /// All of them: messages pass nodes that no rank is on.
    static std::size_t nodes(const torus_model& model) {
        std::size_t product = 1;
        for (const std::uint32_t side : model.sides) product *= side;
        return product;
    }
    std::size_t links_per_node() const { return model_.sides.size() * 2; }
    std::uint32_t node_of(std::uint32_t rank) const {
        return node_of_rank_.empty() ? rank : node_of_rank_[rank];
    }

    void move(engine& host, message& what);
    std::string name(std::size_t link) const;

    torus_model model_;
    std::vector<std::uint32_t> node_of_rank_;
    std::vector<port> links_;
    std::vector<port> out_;
    std::vector<port> in_;
    std::vector<ticks> last_end_;  ///< of messages by the last link that they took, or their node
};

/// Distance along a ring or a row; positive is up.
std::int64_t distance(std::int64_t from, std::int64_t to, std::int64_t side, bool wraps_around) {
    const std::int64_t straight = to - from;
    if (!wraps_around) return straight;
    const std::int64_t up = straight < 0 ? straight + side : straight;
    return up * 2 <= side ? up : up - side;
}

/// The head of the message is at a node: it takes the next link, or ends.
void torus_network::move(engine& host, message& what) {
    const ticks wire = model_.per_byte.of(what.bytes);
    task& cause = host.rank(what.from);
    std::uint32_t stride = 1;
    for (std::size_t dimension = 0; dimension < model_.sides.size(); ++dimension) {
        const std::uint32_t side = model_.sides[dimension];
        const std::uint32_t here = what.at / stride % side;
        const std::int64_t way =
            distance(here, what.step / stride % side, side, model_.wraps_around);
        if (way != 0) {
            const std::uint32_t next = way > 0 ? (here + 1) % side : (here + side - 1) % side;
            what.slots_left =
                static_cast<std::uint32_t>(what.at * links_per_node() + dimension * 2 + (way < 0));
            port& link = links_[what.slots_left];
            what.at = what.at - here * stride + next * stride;
            return host.schedule(what, link.take(what.bytes, host.now(), wire) + model_.hop, cause);
        }
        stride *= side;
    }
    const ticks start = in_[what.step].take(what.bytes, host.now(), model_.gap);
    // What came over one link, or from the own node, ends in the order in which it began.
    ticks& last_end = last_end_[what.slots_left];
    last_end = std::max(last_end, start + wire);
    what.act = what.arrive;
    host.schedule(what, last_end, cause);
}

std::string torus_network::name(std::size_t link) const {
    std::string place;
    std::size_t rest = link / links_per_node();
    for (const std::uint32_t side : model_.sides) {
        fmt::format_to(std::back_inserter(place), "{}{}", place.empty() ? "" : ",", rest % side);
        rest /= side;
    }
    const std::size_t which = link % links_per_node();
    return fmt::format("({}) {} in dimension {}", place, which % 2 == 0 ? "up" : "down", which / 2);
}

/// Those that were used, the busiest first: a rack has tens of thousands of links.
std::vector<link_use> torus_network::links() const {
    std::vector<link_use> used;
    const auto add = [&used](const port& which, std::string name) {
        if (which.messages == 0) return;
        used.push_back(which.use(std::move(name)));
    };
    for (std::size_t i = 0; i < links_.size(); ++i) add(links_[i], name(i));
    for (std::size_t i = 0; i < out_.size(); ++i) add(out_[i], fmt::format("node {} out", i));
    for (std::size_t i = 0; i < in_.size(); ++i) add(in_[i], fmt::format("node {} in", i));
    std::stable_sort(used.begin(), used.end(), [](const link_use& left, const link_use& right) {
        return left.busy > right.busy;
    });
    return used;
}

}  // namespace

std::unique_ptr<network> make_torus_network(const torus_model& model, std::uint32_t endpoints,
                                            std::vector<std::uint32_t> node_of_rank) {
    return std::make_unique<torus_network>(model, endpoints, std::move(node_of_rank));
}

}  // namespace selion::machine::sim
