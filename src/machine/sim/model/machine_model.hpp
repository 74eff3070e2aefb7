// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "machine/sim/engine/virtual_time.hpp"

/// What a machine file says, in ticks and ready for use. The parts that a file leaves out keep the
/// values given here: no cost, no limit.
namespace selion::machine::sim {

/// Time per byte or per operation, in 2^-20 ticks, so that sums of many keep their fractions.
struct rate {
    std::int64_t scaled = 0;

    /// At most `longest_time`.
    ticks of(std::uint64_t count) const {
        const wide all = (static_cast<wide>(scaled) * count) >> 20;
        return static_cast<ticks>(std::min<wide>(all, longest_time));
    }
    /// What `of` leaves out, in 2^-20 ticks.
    std::int64_t fraction_of(std::uint64_t count) const {
        return static_cast<std::int64_t>((static_cast<wide>(scaled) * count) & 0xfffff);
    }
    static rate from_ticks(double each) {
        return {static_cast<std::int64_t>(each * (1 << 20) + (each < 0 ? -0.5 : 0.5))};
    }
};

/// What one operation of a class costs, up to a size.
struct operation_regime {
    std::uint64_t up_to_bytes = UINT64_MAX;
    ticks origin = 0;  ///< the origin's processor, before the message leaves
    rate origin_per_byte;
    ticks target = 0;  ///< the target's processor, or its hardware where it needs none
    rate target_per_byte;
    ticks reply = 0;  ///< the origin's processor when the answer or acknowledgement is there
    rate reply_per_byte;
    ticks latency = 0;  ///< each way, beyond the network's

    /// Whether only the origin's processor works, before the message leaves.
    bool is_origins() const {
        return (target | reply | latency | target_per_byte.scaled | reply_per_byte.scaled) == 0;
    }
};

/// Costs of a class of operations, regimes by growing size. Empty: free.
struct operation_costs {
    std::vector<operation_regime> regimes;

    const operation_regime& of(std::uint64_t bytes) const {
        static constexpr operation_regime free{};
        for (const operation_regime& regime : regimes) {
            if (bytes <= regime.up_to_bytes) return regime;
        }
        return regimes.empty() ? free : regimes.back();
    }
    bool are_origins() const { return std::ranges::all_of(regimes, &operation_regime::is_origins); }
    bool have_latency() const {
        return std::ranges::any_of(regimes, [](const auto& each) { return each.latency != 0; });
    }
};

/// What `charge` costs, for each unit of work.
struct processor_costs {
    rate flop;
    rate int_op;
    rate load;
    rate store;
    rate copied_byte;
    ticks call = 0;  ///< of an atomic on the rank's own memory
    ticks poll = 1;  ///< reading the clock or a signal again without anything between
};

/// How a message that needs the target's processor is noticed.
enum class reception_kind {
    hardware,   ///< it needs none
    polling,    ///< in the target's next call, or at once while it waits
    interrupt,  ///< at once; a computing processor is interrupted
};

struct reception_model {
    reception_kind kind = reception_kind::hardware;
    ticks dispatch = 0;    ///< each entry of the dispatcher, shared by the messages that it finds
    ticks interrupt = 0;   ///< before the dispatcher, when nobody polls
    ticks coalescing = 0;  ///< interrupts wait that long for further messages
    ticks contention = 0;  ///< what a call that holds the lock loses when an interrupt wants it
    ticks retransmission = 0;   ///< polling: progress without calls, that often; 0: never
    std::uint32_t credits = 0;  ///< operations under way from one rank to another; 0: any number
    bool queues_without_credit = false;  ///< the message waits for a credit, the call does not
    bool has_big_lock = false;       ///< calls and interrupts keep each other out of the dispatcher
    bool has_own_processor = false;  ///< interrupts take no time from what the rank computes
    bool enters_always = false;  ///< every call enters the dispatcher, also when nothing has come
};

/// All pairs alike: latency, and a port at each rank that one message occupies at a time.
struct crossbar_model {
    ticks latency = 0;
    ticks gap = 0;                   ///< of a port, for each message
    rate per_byte;                   ///< of a port
    std::uint64_t packet_bytes = 0;  ///< messages are cut into packets; 0: they are not
    ticks packet_gap = 0;            ///< of a port, for each packet after the first
};

/// What a link of a mesh moves as one.
enum class mesh_granularity : std::uint8_t {
    transactions,
    messages,  ///< coarser, for large runs
};

/// Rows × columns of cores, one rank each; a message goes along its row, then along its column.
struct mesh_model {
    std::uint32_t rows = 1;
    std::uint32_t columns = 1;
    bool wraps_around = false;  ///< a torus
    mesh_granularity granularity = mesh_granularity::transactions;
    ticks entry = 0;                      ///< from the core into its own router
    ticks hop = 0;                        ///< from router to router
    ticks slot = 1;                       ///< a link is taken that long by one transaction
    std::uint32_t transaction_bytes = 8;  ///< most bytes of one transaction
    std::uint32_t store_bytes = 4;        ///< of one store of the copy loop: one transaction
    std::uint32_t queue_slots = 1;        ///< transactions that wait at a link
    ticks read_entry = 0;                 ///< a read of a word: this …
    ticks read_hop = 0;                   ///< … and this for each hop
    std::uint64_t dma_from_bytes = 0;     ///< puts from this size on are the DMA engine's; 0: none
    ticks dma_setup = 0;
    ticks dma_chain = 0;  ///< before each further block of a chain
    rate dma_per_byte;
    std::uint32_t loop_unroll = 1;  ///< stores of the copy loop that are written out
    ticks unrolled_store = 0;       ///< each of those
    ticks remainder_store = 0;      ///< each of the rest: (n - 1) mod unroll + 1
    ticks loop_entry = 0;

    bool has_dma() const { return dma_setup != 0 || dma_per_byte.scaled != 0; }
};

/// A link is taken so long by a transaction.
inline ticks slot_of(const mesh_model& model) { return std::max(model.slot, ticks{1}); }

/// Any number of dimensions, for networks whose single flits are not of interest.
struct torus_model {
    std::vector<std::uint32_t> sides;
    bool wraps_around = true;
    ticks entry = 0;
    ticks hop = 0;
    rate per_byte;  ///< of a link
    ticks gap = 0;  ///< of the port, for each message
};

/// One bus; rank 0 is the master, which carries out every transfer itself.
struct bus_model {
    ticks setup = 0;       ///< of each transfer
    rate write_per_byte;   ///< master to board
    rate read_per_byte;    ///< board to master
    double burst = 1;      ///< so many bytes in the time of one; 1: no burst
    bool has_dma = false;  ///< the master's processor is free while a transfer runs
    bool has_broadcast = false;
    bool boards_are_masters = false;        ///< boards write to each other without the host
    bool idle_boards_only = false;          ///< no transfer to or from a board that computes
    std::uint32_t slots = 0;                ///< of the host; 0: all boards sit in boxes, if any
    std::uint32_t boards_per_expander = 0;  ///< 0: no expander boxes
    ticks expander = 0;                     ///< more for each transfer through one …
    rate expander_per_byte;                 ///< … and for each of its bytes
};

/// Cores that share memory. Costs are of one cache line.
struct node_model {
    std::uint32_t sockets = 1;
    std::uint32_t cores = 1;            ///< of a socket
    std::uint32_t threads = 1;          ///< of a core
    std::uint32_t cores_per_cache = 1;  ///< that share the last cache
    std::uint32_t fpus = 1;             ///< of a core, shared by its threads
    std::uint32_t line_bytes = 64;
    ticks hit = 0;        ///< own copy
    ticks same_core = 0;  ///< from another thread of the core
    ticks near = 0;       ///< from a core that shares a cache
    ticks far = 0;        ///< from any other core
    ticks from_memory = 0;
    ticks atomic = 0;        ///< more for a locked operation
    rate memory_per_byte;    ///< the bandwidth that all cores of a socket share
    rate core_per_byte;      ///< what one core copies alone
    ticks line_service = 0;  ///< one line goes to one core after another, so far apart
    ticks wake = 0;          ///< a waiting thread sees a changed line after that
};

enum class network_kind { none, crossbar, mesh, torus, bus };

/// One constant of a machine file and where it comes from, for `--explain`.
struct constant_note {
    std::string key;     ///< "operations.put.origin_us"
    std::string value;   ///< as written
    std::string unit;    ///< "us"; empty for counts and words
    std::string source;  ///< "given: …", "fitted on …", "assumed because …"
};

/// A constant that means something to a floor above the machine only, such as what a hit in the
/// software cache costs. Which of the fields holds it is a matter of its unit.
struct extra_constant {
    ticks time = 0;
    rate per_byte;
    double number = 0;  ///< without a unit, or in bytes
};

/// A short key that the spec may set: `rows=8`, `progress=interrupt`.
struct option_note {
    std::string key;
    std::vector<std::string> choices;  ///< legal values; empty: what `target` takes
    std::string target;                ///< "network.rows"; empty for choices
    std::string value;                 ///< in force
};

/// A whole machine.
struct machine_model {
    std::string name;
    std::string summary;
    tick_length tick;
    double cycle_ticks = 0;                ///< of the clock that the file names; 0: it names none
    std::uint32_t ranks = 1;               ///< of the default shape
    std::uint32_t nodes = 1;               ///< machines that `node` describes
    std::uint32_t processes_per_node = 0;  ///< 0: one process
    std::uint32_t threads_per_process = 1;
    std::uint32_t most_ranks = 1;  ///< that this shape has room for; `ranks` may be fewer
    network_kind network = network_kind::none;
    crossbar_model crossbar;
    mesh_model mesh;
    torus_model torus;
    bus_model bus;
    std::optional<node_model> node;  ///< ranks of a node share its memory
    processor_costs processor;
    std::optional<processor_costs> master;  ///< rank 0's, where it differs from the others'
    reception_model reception;
    operation_costs put;
    operation_costs get;
    operation_costs atomic;
    operation_costs signal;
    operation_costs put_signal;  ///< data with a signal; empty: as `put`
    operation_costs active_message;
    bool acknowledges_puts = true;   ///< by a message; else completion is arrival
    std::uint64_t memory_bytes = 0;  ///< of each rank; 0: no limit of its own
    /// Ranks that share memory: all of a node, or those of one of its processes; 1 without a node.
    std::uint32_t ranks_per_process() const {
        if (!node) return 1;
        const std::uint32_t machines = nodes == 0 ? 1 : nodes;
        return processes_per_node == 0 ? (ranks + machines - 1) / machines : threads_per_process;
    }
    std::uint32_t ranks_per_node() const {
        return ranks_per_process() * (processes_per_node == 0 ? 1 : processes_per_node);
    }
    /// Whether nobody works on what arrives, be it a request or an answer.
    bool receives_freely() const {
        const auto free = [](const operation_costs& costs) { return costs.are_origins(); };
        return reception.kind == reception_kind::hardware && free(put) && free(get) &&
               free(atomic) && free(signal) && free(put_signal);
    }
    /// Of a put, with a signal or without, of data or of none.
    const operation_costs& costs_of_put(bool has_signal, std::uint64_t bytes) const {
        if (!has_signal) return put;
        if (bytes == 0) return signal;
        return put_signal.regimes.empty() ? put : put_signal;
    }
    /// Whether some operation needs latency beyond the network's.
    bool has_latency() const {
        return put.have_latency() || get.have_latency() || atomic.have_latency() ||
               signal.have_latency() || put_signal.have_latency() || active_message.have_latency();
    }
    std::map<std::string, extra_constant, std::less<>> extras;  ///< "coherence.read_hit"
    std::vector<constant_note> constants;
    std::vector<option_note> options;
};

}  // namespace selion::machine::sim
