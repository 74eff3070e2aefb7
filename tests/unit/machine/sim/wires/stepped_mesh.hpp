// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "machine/sim/model/machine_model.hpp"
#include "unit/machine/sim/wires/network_bed.hpp"

namespace selion::machine::sim {

/// One put of a core's program: `stores` stores of four bytes.
struct copy_loop {
    std::uint32_t to = 0;
    std::uint32_t stores = 1;
};

/// The rules of docs/design/mesh.md once more, to compare with: looks at every queue and every link
/// in every tick. Slow and plain; shares nothing with the network but the model.
class stepped_mesh {
public:
    struct result {
        std::vector<ticks> arrived;  ///< of each transaction or put, as numbered by the caller
        ticks waited = 0;            ///< from being in a queue to leaving it, all of them
        ticks stalled = 0;           ///< stores that were ready and could not go
        std::vector<ticks> busy;     ///< of `node * 5 + output`
        std::vector<ticks> idle;
        ticks end = 0;
    };

    explicit stepped_mesh(const mesh_model& model);

    /// Transactions that events inject; sorted by time.
    result deliver(const std::deque<sample>& plan);
    /// Cores that run their copy loops one after the other. Puts are numbered core by core.
    result copy(const std::vector<std::vector<copy_loop>>& programs);

private:
    static constexpr int inputs = 6;   // from west, north, east, south; stores; events
    static constexpr int outputs = 5;  // to east, south, west, north; memory
    enum : int { stores = 4, events = 5, memory = 4 };

    struct packet {
        std::size_t number = 0;
        std::uint32_t row = 0, column = 0;  // where it ends
        ticks arrives = 0;
    };
    struct buffer {
        std::deque<packet> coming;
        std::deque<packet> waiting;
        ticks gives_until = 0;
    };
    struct port {
        std::uint32_t turn = 0;
        ticks free_at = 0;
    };
    struct router {
        buffer in[inputs];
        port out[outputs];
        ticks stores_free_at = 0;
        ticks events_free_at = 0;
        std::deque<std::pair<std::size_t, const sample*>> unsent;  // of events
    };
    struct core {
        std::vector<copy_loop> program;
        std::size_t first_number = 0;
        std::size_t put = 0;
        std::uint32_t store = 0;
        ticks ready = 0;
    };
    struct decision {
        std::uint32_t node = 0;
        int input = 0;
        int output = 0;
    };

    result run();
    bool has_room(const buffer& where, std::size_t needed) const;
    void let_arrive();
    void let_events_send(router& at);
    void let_core_send(core& of, router& at);
    ticks store_cost(const copy_loop& loop, std::uint32_t store) const;
    int output_of(std::uint32_t node, const packet& what) const;
    std::uint32_t next_node(std::uint32_t node, int direction) const;
    bool may_go(std::uint32_t node, int input, int output) const;
    void decide(std::uint32_t node, std::vector<decision>& all);
    void carry_out(const decision& made);
    void count_links();
    packet packet_to(std::size_t number, std::uint32_t node) const;

    mesh_model model_;
    std::size_t capacity_;
    std::vector<router> routers_;
    std::vector<core> cores_;
    std::vector<std::uint32_t> missing_;  // transactions of each number
    std::size_t under_way_ = 0;
    ticks now_ = 0;
    result result_;
};

}  // namespace selion::machine::sim
