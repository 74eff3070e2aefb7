// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/wires/mesh_messages.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "machine/sim/wires/mesh_train.hpp"
#include "machine/sim/wires/mesh_wires.hpp"

namespace selion::machine::sim {
namespace {

/// Transactions come evenly, the first of them `wait` before it goes on. @param gain so much less
/// does the last one wait than the first, if it waits at all. @return the time that all of them
/// wait.
ticks waits_of_all(ticks count, ticks wait, ticks gain) {
    const wide waiting = wait >= gain ? wide{count} : wide{wait} * (count - 1) / gain + 1;
    const wide gained =
        wait >= gain ? wide{count} * gain / 2 : waiting * (waiting - 1) * gain / (count - 1) / 2;
    return static_cast<ticks>(std::min<wide>(waiting * wait - gained, longest_time));
}

/// While a message is on its way its event is that of its head, at a router; `at` is the first link
/// of that router, `step` the way that is left, `slots_left` its transactions, and `entered` is
/// when its last transaction comes there. Before, `at` is its port, and `entered` when its last
/// transaction leaves there.
class mesh_messages final : public mesh_wires {
public:
    explicit mesh_messages(const mesh_model& model)
        : mesh_wires(model),
          places_(places_of_link(model)),
          links_(std::size_t{layout().nodes()} * links_per_node) {
        for (std::uint32_t number = 0; number < links_.size(); ++number) {
            links_[number].router = layout().end_of(number) * links_per_node;
        }
    }

private:
    struct link {
        ticks free_at = 0;         ///< no message has taken it from then on
        std::uint32_t router = 0;  ///< the first link behind it
        mesh_link_count count;
        // Of ports.
        std::uint32_t pending = 0;  ///< transactions of messages that have no other link yet
        ticks empty_at = 0;         ///< all of the others have gone on then
    };

    ticks begin(engine& host, message& what, mesh_link which) override;
    const mesh_link_count& count(std::uint32_t which) const override { return links_[which].count; }
    ticks send(engine& host, std::uint32_t port);
    void start_first(engine& host, std::uint32_t port);
    void end_first(engine& host, std::uint32_t port, ticks gone);
    void leave_port(engine& host, message& what);
    void move(engine& host, message& what);
    ticks take(link& taken, message& what, ticks now) const;

    std::uint32_t places_;
    std::vector<link> links_;
};

ticks mesh_messages::begin(engine& host, message& what, mesh_link which) {
    const std::uint32_t port = what.from * links_per_node + which;
    what.owner = this;
    if (!line_up(port, what, host.now())) return end_of_time;
    task* const sender = std::exchange(what.sender, nullptr);  // it is not suspended
    const ticks gone = send(host, port);
    what.sender = sender;
    return gone;
}

/// Lets messages of a port go, one after the other, as long as its queue has room for all of each.
/// One that is longer than the queue needs all of it, and others wait until it has its first link.
/// @return when the last one left entirely; `end_of_time` if one is still there.
ticks mesh_messages::send(engine& host, std::uint32_t port) {
    const source& queue = source_of(port);
    const auto which = static_cast<mesh_link>(port % links_per_node);
    ticks gone = end_of_time;
    while (queue.first != nullptr) {
        message& what = *queue.first;
        const std::uint32_t count = mesh_train(model(), what, which).transactions();
        if (links_[port].pending + std::min(count, places_) > places_) return end_of_time;
        start_first(host, port);
        if (count > places_) return end_of_time;
        gone = what.entered;
        end_first(host, port, gone);
    }
    return gone;
}

/// The first message of a port is sent as fast as its source and the port can.
void mesh_messages::start_first(engine& host, std::uint32_t port) {
    const source& queue = source_of(port);
    message& what = *queue.first;
    link& taken = links_[port];
    mesh_train train(model(), what, static_cast<mesh_link>(port % links_per_node));
    train.begin(start_of_work(port));
    const ticks room_at = taken.empty_at - multiple(places_ - taken.pending - 1, slot());
    const ticks first = std::min(std::max({train.ready(), queue.free_at, room_at}), out_of_reach);
    const ticks last = first + train.work_of_rest(slot());
    taken.count.transactions += what.slots_left;
    taken.count.bytes += what.bytes;
    taken.count.waiting += last - train.ready() - train.work_of_rest(0);
    taken.pending += what.slots_left;
    what.entered = last;
    what.at = port;
    what.step = std::bit_cast<std::uint32_t>(layout().way(what.from, what.to));
    what.act = [](engine& later, event& due) {
        message& leaving = static_cast<message&>(due);
        leaving.wires<mesh_messages>().leave_port(later, leaving);
    };
    host.schedule(what, first + model().entry, host.rank(what.from));
}

/// Its last transaction leaves at `gone`.
void mesh_messages::end_first(engine& host, std::uint32_t port, ticks gone) {
    source& queue = source_of(port);
    message& what = *queue.first;
    links_[port].count.waiting += gone - what.entered;
    what.entered = gone + model().entry;
    queue.free_at = gone + slot();
    if (what.sender != nullptr) host.resume_at(*what.sender, gone);
    queue.first = what.next;
}

/// Its head is at its own router and takes its first link. Now it is known when its port has room
/// again.
void mesh_messages::leave_port(engine& host, message& what) {
    const std::uint32_t port = what.at;
    const std::uint32_t count = what.slots_left;
    link& left = links_[port];
    const mesh_link output = mesh_way(std::bit_cast<mesh_way>(what.step)).advance();
    const ticks start = std::max(host.now(), links_[left.router + output].free_at);
    left.pending -= count;
    left.empty_at = std::max(left.empty_at, later(start, multiple(count, slot())));
    if (count > places_) {
        const ticks room_at = left.empty_at - multiple(places_, slot());
        end_first(host, port, std::max(what.entered, room_at));
    }
    what.at = left.router;
    what.act = [](engine& later, event& due) {
        message& moving = static_cast<message&>(due);
        moving.wires<mesh_messages>().move(later, moving);
    };
    move(host, what);
    send(host, port);
}

/// Its head is at a router: it takes the next link, or ends.
void mesh_messages::move(engine& host, message& what) {
    auto way = std::bit_cast<mesh_way>(what.step);
    const mesh_link output = way.advance();
    link& next = links_[what.at + output];
    const ticks start = take(next, what, host.now());
    task& cause = host.rank(what.from);
    if (output == into_core) {
        what.act = what.arrive;
        return host.schedule(what, what.entered, cause);
    }
    what.step = std::bit_cast<std::uint32_t>(way);
    what.at = next.router;
    what.entered = later(what.entered, model().hop);
    host.schedule(what, start + model().hop, cause);
}

/// The last transaction goes when it is there and those before it have gone.
/// @return when the first one does.
ticks mesh_messages::take(link& taken, message& what, ticks now) const {
    const auto count = static_cast<ticks>(what.slots_left);
    const ticks start = std::max(now, taken.free_at);
    const ticks of_rest = multiple(what.slots_left - 1, slot());
    const ticks gain = what.entered - now - of_rest;
    taken.free_at = later(start, of_rest + slot());
    taken.count.transactions += what.slots_left;
    taken.count.bytes += what.bytes;
    taken.count.waiting += waits_of_all(count, start - now, gain);
    what.entered = std::max(what.entered, start + of_rest);
    return start;
}

}  // namespace

std::unique_ptr<network> make_mesh_messages(const mesh_model& model) {
    return std::make_unique<mesh_messages>(model);
}

}  // namespace selion::machine::sim
