// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/model/closed_form.hpp"

#include <algorithm>
#include <cstdlib>

#include "machine/sim/model/bus_costs.hpp"

namespace selion::machine::sim {
namespace {

/// Bytes of the word of a signal or an atomic.
constexpr std::uint64_t word_bytes = 8;

std::uint32_t distance(std::uint32_t from, std::uint32_t to, std::uint32_t side, bool wraps) {
    const std::uint32_t straight = from < to ? to - from : from - to;
    return wraps ? std::min(straight, side - straight) : straight;
}

std::uint32_t node_of(const machine_model& model, std::uint32_t rank) {
    const std::uint32_t processes = std::max(model.processes_per_node, 1u);
    return rank / (processes * model.threads_per_process);
}

std::uint32_t torus_hops(const machine_model& model, std::uint32_t from, std::uint32_t to) {
    std::uint32_t here = node_of(model, from);
    std::uint32_t there = node_of(model, to);
    std::uint32_t all = 0;
    for (const std::uint32_t side : model.torus.sides) {
        all += distance(here % side, there % side, side, model.torus.wraps_around);
        here /= side;
        there /= side;
    }
    return all;
}

/// The copy loop of a core: what is left of whole turns of the unrolled loop goes one by one, all
/// of a loop that is not unrolled, and each store but the first takes the core's link for a slot.
ticks copy_loop(const mesh_model& mesh, std::uint64_t bytes) {
    const std::uint64_t width = std::min(mesh.store_bytes, mesh.transaction_bytes);
    const std::uint64_t stores = std::max<std::uint64_t>((bytes + width - 1) / width, 1);
    const std::uint64_t turn = mesh.loop_unroll;
    const auto unrolled = turn > 1 ? static_cast<ticks>((stores - 1) / turn * turn) : 0;
    const ticks rest = static_cast<ticks>(stores) - unrolled;
    const ticks first = unrolled != 0 ? mesh.unrolled_store : mesh.remainder_store;
    const ticks unrolled_later = std::max<ticks>(unrolled - 1, 0);
    const ticks rest_later = unrolled != 0 ? rest : rest - 1;
    const ticks slot = slot_of(mesh);
    return mesh.loop_entry + first +
           multiple(static_cast<std::uint64_t>(unrolled_later),
                    std::max(mesh.unrolled_store, slot)) +
           multiple(static_cast<std::uint64_t>(rest_later), std::max(mesh.remainder_store, slot));
}

ticks mesh_way(const machine_model& model, const route& way) {
    return model.mesh.entry + multiple(hops(model, way.from, way.to), model.mesh.hop);
}

ticks bus_transfer(const machine_model& model, const route& way, std::uint64_t bytes) {
    const bus_costs costs(model.bus, model.ranks);
    return way.from == 0 ? costs.write(way.to, bytes) : costs.read(way.from, bytes);
}

/// From one port to another, all bytes of a message; on a mesh, its last one.
ticks wires(const machine_model& model, const route& way, std::uint64_t bytes) {
    switch (model.network) {
        case network_kind::crossbar: {
            const crossbar_model& bar = model.crossbar;
            const std::uint64_t more =
                bar.packet_bytes == 0 || bytes == 0 ? 0 : (bytes - 1) / bar.packet_bytes;
            return bar.latency + bar.per_byte.of(bytes) + multiple(more, bar.packet_gap);
        }
        case network_kind::torus:
            return model.torus.entry + multiple(hops(model, way.from, way.to), model.torus.hop) +
                   model.torus.per_byte.of(bytes);
        case network_kind::mesh: return mesh_way(model, way);
        case network_kind::bus: return bus_transfer(model, way, bytes);
        case network_kind::none: break;
    }
    return 0;
}

ticks call_entry(const machine_model& model) {
    return model.reception.enters_always ? model.reception.dispatch : 0;
}

/// Before a processor looks at a message.
ticks notice(const machine_model& model, bool computes) {
    const reception_model& how = model.reception;
    if (how.kind == reception_kind::hardware) return 0;
    const bool is_interrupt = computes && how.kind == reception_kind::interrupt;
    return how.dispatch + (is_interrupt ? how.interrupt : 0);
}

void acknowledge(const machine_model& model, const route& way, const operation_regime& regime,
                 journey& into) {
    if (!model.acknowledges_puts) return;
    into.back = wires(model, {.from = way.to, .to = way.from}, 0) + regime.latency;
    into.reply = notice(model, false) + regime.reply;
}

journey write_journey(const machine_model& model, const route& way, const operation_regime& regime,
                      std::uint64_t wire_bytes) {
    journey made;
    made.origin = call_entry(model) + regime.origin + regime.origin_per_byte.of(way.bytes);
    const std::uint64_t dma_from = model.mesh.dma_from_bytes;
    const bool is_by_dma = dma_from != 0 && way.bytes >= dma_from;
    if (model.network == network_kind::mesh && !is_by_dma) {
        made.origin += copy_loop(model.mesh, wire_bytes);
    }
    made.there =
        (is_by_dma ? dma_ticks(model, way) : wires(model, way, wire_bytes)) + regime.latency;
    made.target =
        notice(model, way.target_computes) + regime.target + regime.target_per_byte.of(way.bytes);
    acknowledge(model, way, regime, made);
    return made;
}

/// An operation that brings an answer. @param asked_bytes of the request
journey answered_journey(const machine_model& model, const route& way,
                         const operation_regime& regime, std::uint64_t asked_bytes) {
    journey made;
    made.origin = call_entry(model) + regime.origin + regime.origin_per_byte.of(way.bytes);
    made.target =
        notice(model, way.target_computes) + regime.target + regime.target_per_byte.of(way.bytes);
    made.reply = notice(model, false) + regime.reply + regime.reply_per_byte.of(way.bytes);
    if (model.network == network_kind::mesh) {
        // Loads, one after another, each waiting for its word.
        const std::uint64_t width = model.mesh.store_bytes;
        const std::uint64_t words = std::max<std::uint64_t>((way.bytes + width - 1) / width, 1);
        const ticks word =
            model.mesh.read_entry + multiple(hops(model, way.from, way.to), model.mesh.read_hop);
        made.there = word / 2;
        made.back = multiple(words, word) - made.there + regime.latency;
        made.there += regime.latency;
        return made;
    }
    const route back{.from = way.to, .to = way.from};
    // A bus's master asks nobody: it reads.
    const bool is_masters_read =
        model.network == network_kind::bus && way.from == 0 && asked_bytes == 0;
    made.there = (is_masters_read ? 0 : wires(model, way, asked_bytes)) + regime.latency;
    made.back = wires(model, back, way.bytes) + regime.latency;
    return made;
}

}  // namespace

std::uint32_t hops(const machine_model& model, std::uint32_t from, std::uint32_t to) {
    if (model.network == network_kind::torus) return torus_hops(model, from, to);
    if (model.network != network_kind::mesh) return 1;
    const mesh_model& mesh = model.mesh;
    const std::uint32_t columns = mesh.columns;
    return distance(from % columns, to % columns, columns, mesh.wraps_around) +
           distance(from / columns, to / columns, mesh.rows, mesh.wraps_around);
}

journey put_journey(const machine_model& model, const route& way) {
    return write_journey(model, way, model.put.of(way.bytes), way.bytes);
}

journey signal_journey(const machine_model& model, const route& way) {
    route empty = way;
    empty.bytes = 0;
    return write_journey(model, empty, model.signal.of(word_bytes), word_bytes);
}

journey get_journey(const machine_model& model, const route& way) {
    return answered_journey(model, way, model.get.of(way.bytes), 0);
}

journey atomic_journey(const machine_model& model, const route& way) {
    route word = way;
    word.bytes = word_bytes;
    return answered_journey(model, word, model.atomic.of(word_bytes), word_bytes);
}

ticks dma_ticks(const machine_model& model, const route& way) {
    // A link takes each of its transactions for a slot.
    const mesh_model& mesh = model.mesh;
    const std::uint64_t width = mesh.transaction_bytes;
    const std::uint64_t rest = way.bytes <= width ? 0 : (way.bytes - 1) / width;
    const ticks first = mesh.dma_per_byte.of(std::min(way.bytes, width));
    const ticks paced =
        std::max(mesh.dma_per_byte.of(way.bytes), first + multiple(rest, slot_of(mesh)));
    return mesh.dma_setup + paced + mesh_way(model, way);
}

}  // namespace selion::machine::sim
