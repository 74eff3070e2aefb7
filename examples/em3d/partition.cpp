// SPDX-License-Identifier: Apache-2.0
#include "partition.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

namespace em3d {

namespace {

/// Begin of part `number` when `count` things are divided evenly into `parts`.
std::size_t part_begin(std::size_t count, std::uint32_t parts, std::uint32_t number) {
    return count / parts * number + std::min<std::size_t>(count % parts, number);
}

/// Fills in the positions, given the ranks.
void number_places(std::vector<place>& places, std::uint32_t ranks) {
    std::vector<std::uint32_t> next(ranks, 0);
    for (place& where : places) where.index = next[where.rank]++;
}

std::vector<place> blocks(std::uint32_t count, std::uint32_t ranks) {
    std::vector<place> places(count);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const std::size_t end = part_begin(count, ranks, rank + 1);
        for (std::size_t i = part_begin(count, ranks, rank); i < end; ++i) places[i].rank = rank;
    }
    number_places(places, ranks);
    return places;
}

/// Cuts a list of node numbers in place until each rank has a run of it.
class bisection {
public:
    bisection(std::span<const point> positions, std::uint32_t ranks)
        : positions_(positions),
          ranks_(ranks),
          order_(positions.size()),
          owners_(positions.size()) {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        cut(0, ranks);
    }

    const std::vector<std::uint32_t>& owners() const { return owners_; }

private:
    void cut(std::uint32_t first_rank, std::uint32_t end_rank) {
        const std::span<std::size_t> nodes = run(first_rank, end_rank);
        if (end_rank - first_rank == 1) {
            for (const std::size_t node : nodes) owners_[node] = first_rank;
            return;
        }
        if (nodes.empty()) return;
        const std::uint32_t middle = first_rank + (end_rank - first_rank) / 2;
        split(nodes, run(first_rank, middle).size());
        cut(first_rank, middle);
        cut(middle, end_rank);
    }

    /// The nodes that belong to these ranks once the cuts above are made.
    std::span<std::size_t> run(std::uint32_t first_rank, std::uint32_t end_rank) {
        const std::size_t begin = part_begin(order_.size(), ranks_, first_rank);
        return std::span(order_).subspan(begin,
                                         part_begin(order_.size(), ranks_, end_rank) - begin);
    }

    /// Ties go by number, so that the parts are a function of the positions alone.
    void split(std::span<std::size_t> nodes, std::size_t left) {
        const double point::*axis = longest_axis(nodes);
        std::nth_element(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(left),
                         nodes.end(), [&](std::size_t a, std::size_t b) {
                             const double at_a = positions_[a].*axis;
                             const double at_b = positions_[b].*axis;
                             return at_a < at_b || (at_a == at_b && a < b);
                         });
    }

    const double point::*longest_axis(std::span<const std::size_t> nodes) const {
        const double point::*longest = &point::x;
        double most = -1;
        for (const double point::*axis : {&point::x, &point::y, &point::z}) {
            double low = std::numeric_limits<double>::infinity();
            double high = -low;
            for (const std::size_t node : nodes) {
                low = std::min(low, positions_[node].*axis);
                high = std::max(high, positions_[node].*axis);
            }
            if (high - low > most) {
                most = high - low;
                longest = axis;
            }
        }
        return longest;
    }

    std::span<const point> positions_;
    std::uint32_t ranks_;
    std::vector<std::size_t> order_;
    std::vector<std::uint32_t> owners_;
};

}  // namespace

std::vector<std::uint32_t> partition::nodes_of(field kind, std::uint32_t rank) const {
    const std::vector<place>& places = of(kind);
    std::vector<std::uint32_t> nodes;
    for (std::size_t node = 0; node < places.size(); ++node) {
        if (places[node].rank == rank) nodes.push_back(static_cast<std::uint32_t>(node));
    }
    return nodes;
}

std::uint32_t partition::largest_part(field kind, std::uint32_t ranks) const {
    std::vector<std::uint32_t> sizes(ranks, 0);
    for (const place& where : of(kind)) ++sizes[where.rank];
    return *std::max_element(sizes.begin(), sizes.end());
}

partition divide_in_blocks(std::uint32_t electric, std::uint32_t magnetic, std::uint32_t ranks) {
    return {blocks(electric, ranks), blocks(magnetic, ranks)};
}

partition divide_by_bisection(std::span<const point> electric, std::span<const point> magnetic,
                              std::uint32_t ranks) {
    std::vector<point> positions(electric.begin(), electric.end());
    positions.insert(positions.end(), magnetic.begin(), magnetic.end());
    const bisection cuts(positions, ranks);
    partition result;
    for (std::size_t i = 0; i < electric.size(); ++i)
        result.electric.push_back({cuts.owners()[i], 0});
    for (std::size_t i = electric.size(); i < positions.size(); ++i) {
        result.magnetic.push_back({cuts.owners()[i], 0});
    }
    number_places(result.electric, ranks);
    number_places(result.magnetic, ranks);
    return result;
}

}  // namespace em3d
