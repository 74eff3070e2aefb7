// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "machine/sim/wires/bus_network.hpp"
#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {

constexpr ticks bus_setup = 1000;
constexpr ticks each_written = 10;
constexpr ticks each_read = 20;

constexpr ticks write_of(std::uint64_t bytes) {
    return bus_setup + each_written * static_cast<ticks>(bytes);
}
constexpr ticks read_of(std::uint64_t bytes) {
    return bus_setup + each_read * static_cast<ticks>(bytes);
}

/// A bus without any option, and operations that cost nothing else.
inline machine_model plain_bus(std::uint32_t boards) {
    machine_model model = free_model(boards + 1, network_kind::bus);
    model.bus.setup = bus_setup;
    model.bus.write_per_byte = rate::from_ticks(each_written);
    model.bus.read_per_byte = rate::from_ticks(each_read);
    return model;
}

inline machine_model dma_bus(std::uint32_t boards) {
    machine_model model = plain_bus(boards);
    model.bus.has_dma = true;
    return model;
}

inline machine_model careful_bus(std::uint32_t boards) {
    machine_model model = plain_bus(boards);
    model.bus.idle_boards_only = true;
    return model;
}

using program_of_rank = std::function<void(model_rank&)>;

/// Runs a program on each rank, the master's first. @return all that was on the bus.
inline std::vector<bus_transfer> transfers_of(model_run& run,
                                              const std::vector<program_of_rank>& programs) {
    std::vector<bus_transfer> all;
    run.wires<bus_network>().watch([&](const bus_transfer& each) { all.push_back(each); });
    run.run_each(programs);
    return all;
}

}  // namespace selion::machine::sim
