// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "machine/sim/model/machine_model.hpp"

namespace selion::machine::sim {

/// Links of a node, numbered `node * links_per_node + which`. A router's inputs have the numbers of
/// the links that end there (what travels east comes in by input `east`), so 0 to 6 are inputs as
/// well; 0 to 3 and `into_core` are outputs.
enum mesh_link : std::uint32_t {
    east,
    south,
    west,
    north,
    from_core,    ///< stores of the core
    from_dma,     ///< its DMA engine
    from_events,  ///< what hardware sends by itself: answers, acknowledgements
    into_core,    ///< what has come to its end
    links_per_node,
};

/// How far a transaction still has to go; positive is east and south.
struct mesh_way {
    std::int16_t across;
    std::int16_t down;

    std::uint32_t hops() const {
        return static_cast<std::uint32_t>((across < 0 ? -across : across) +
                                          (down < 0 ? -down : down));
    }
    /// Horizontal first. @return the output to take; `*this` is what is left behind it.
    mesh_link advance() {
        if (across > 0) return --across, east;
        if (across < 0) return ++across, west;
        if (down > 0) return --down, south;
        if (down < 0) return ++down, north;
        return into_core;
    }
};

/// Who is whose neighbour. Nodes are numbered row by row.
class mesh_layout {
public:
    explicit mesh_layout(const mesh_model& model)
        : rows_(model.rows), columns_(model.columns), wraps_around_(model.wraps_around) {}

    std::uint32_t nodes() const { return rows_ * columns_; }

    /// The shorter way round where the mesh closes; east and south of two equal ones.
    mesh_way way(std::uint32_t from, std::uint32_t to) const {
        return {distance(from % columns_, to % columns_, columns_),
                distance(from / columns_, to / columns_, rows_)};
    }

    /// @param direction east to north. @return the node where that link ends, also where an open
    /// mesh has no such link.
    std::uint32_t neighbour(std::uint32_t node, std::uint32_t direction) const {
        const std::uint32_t row = node / columns_;
        const std::uint32_t column = node % columns_;
        switch (direction) {
            case east: return row * columns_ + (column + 1) % columns_;
            case west: return row * columns_ + (column + columns_ - 1) % columns_;
            case south: return (row + 1) % rows_ * columns_ + column;
            default: return (row + rows_ - 1) % rows_ * columns_ + column;
        }
    }

    bool exists(std::uint32_t node, std::uint32_t direction) const {
        const std::uint32_t row = node / columns_;
        const std::uint32_t column = node % columns_;
        switch (direction) {
            case east: return wraps_around_ ? columns_ > 1 : column + 1 < columns_;
            case west: return wraps_around_ ? columns_ > 1 : column > 0;
            case south: return wraps_around_ ? rows_ > 1 : row + 1 < rows_;
            case north: return wraps_around_ ? rows_ > 1 : row > 0;
            default: return true;
        }
    }

    /// The node where a link ends.
    std::uint32_t end_of(std::uint32_t link) const {
        const std::uint32_t node = link / links_per_node;
        const std::uint32_t which = link % links_per_node;
        return which <= north ? neighbour(node, which) : node;
    }

    /// Row, column and what it is, for reports: "(2,3) east".
    std::string name(std::uint32_t link) const;

private:
    std::int16_t distance(std::uint32_t from, std::uint32_t to, std::uint32_t side) const {
        const auto straight = static_cast<std::int32_t>(to) - static_cast<std::int32_t>(from);
        if (!wraps_around_) return static_cast<std::int16_t>(straight);
        const auto round = static_cast<std::int32_t>(side);
        const std::int32_t up = straight < 0 ? straight + round : straight;
        return static_cast<std::int16_t>(up * 2 <= round ? up : up - round);
    }

    std::uint32_t rows_;
    std::uint32_t columns_;
    bool wraps_around_;
};

/// Places of a queue and its link: for transactions that are on the link at the same time when it
/// is never idle, and for those that wait.
std::uint32_t places_of_link(const mesh_model& model);

}  // namespace selion::machine::sim
