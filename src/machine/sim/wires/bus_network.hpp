// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "machine/sim/model/bus_costs.hpp"
#include "machine/sim/model/machine_model.hpp"
#include "machine/sim/wires/network.hpp"

namespace selion::machine::sim {

/// One transfer that was on the bus.
struct bus_transfer {
    ticks start = 0;
    ticks end = 0;
    std::uint32_t board = 0;  ///< of a broadcast: the first
    bool is_read = false;
    std::uint64_t bytes = 0;
};

/// One bus that carries one transfer at a time. Rank 0 is the master, all others are its boards.
///
/// The master carries out every transfer:
/// - master → board is a write;
/// - board → master is a read, whoever wanted it. A board cannot drive the bus: it leaves data and
///   request in its own memory, for which it needs no processor time of its own and no bus, and
///   goes on; the master reads when the bus is free;
/// - board → board is a read and, as a transfer of its own, a write; where boards can be masters as
///   well, one write, which needs the bus and nothing of the host;
/// - a request of the master for a board's data is no transfer: the read itself is. A board's
///   request is read like anything else, and takes the setup of a transfer without bytes.
///
/// Who asked first is served first, but the data of the master's own reads go before all others.
/// Without DMA a transfer needs the master's processor: `inject` of the master returns the end of
/// its transfer; one for a board takes the time from what the master computes, as an interrupt
/// does, and a master that waits goes on when it is over. What the master's dispatcher does for
/// messages is not held against transfers. With DMA the master's processor is free at once, and an
/// unlimited list of transfers waits for the bus.
///
/// A broadcast is one transfer, which all its boards have to be idle for, on a bus that can, and
/// costs a write to one of the boards, through a box if one of them is in a box.
///
/// `idle_boards_only`: a transfer to or from a board waits until that board waits in a call or has
/// ended, others are served before it meanwhile; and a board that could go on while one runs does
/// so at its end. A board that looks again and again whether something has come is idle at each
/// look but the first.
class bus_network : public network {
public:
    virtual const bus_costs& costs() const = 0;
    /// Tells `who` of every transfer when it begins.
    virtual void watch(std::function<void(const bus_transfer&)> who) = 0;
};

std::unique_ptr<bus_network> make_bus_network(const bus_model& model, std::uint32_t ranks);

}  // namespace selion::machine::sim
