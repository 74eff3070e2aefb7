// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "collectives/schedules/parts.hpp"

namespace selion::collectives {
namespace {

using enum block_action;

/// Ranks in rows from left to right, the rows from above down; the last row may be shorter.
class mesh {
public:
    mesh(std::uint32_t ranks, std::uint32_t columns)
        : ranks_(ranks), columns_(std::min(columns, ranks)) {}

    std::uint32_t rows() const { return (ranks_ - 1) / columns_ + 1; }
    std::uint32_t length_of(std::uint32_t row) const {
        return std::min(columns_, ranks_ - row * columns_);
    }
    std::uint32_t row_of(std::uint32_t rank) const { return rank / columns_; }
    std::uint32_t column_of(std::uint32_t rank) const { return rank % columns_; }
    /// A row that has no such column has its last rank there.
    std::uint32_t at(std::uint32_t row, std::uint32_t column) const {
        return row * columns_ + std::min(column, length_of(row) - 1);
    }
    block_range blocks_of(std::uint32_t row) const { return {row * columns_, length_of(row)}; }

private:
    std::uint32_t ranks_;
    std::uint32_t columns_;
};

/// A rank in a tree of neighbours: from the root up and down its column, and from there along the
/// rows. So values stay in the order of ranks.
struct mesh_links {
    std::vector<linked_rank> parent;    ///< one, but none above the root; with what it does there
    std::vector<linked_rank> children;  ///< along the row, then along the column
};

mesh_links links_of(const mesh& all, std::uint32_t root, std::uint32_t rank) {
    const std::uint32_t row = all.row_of(rank);
    const std::uint32_t column = all.column_of(rank);
    const std::uint32_t trunk = all.column_of(all.at(row, all.column_of(root)));
    mesh_links links;
    if (column <= trunk && column != 0) links.children.push_back({rank - 1, combine_before});
    if (column >= trunk && column + 1 != all.length_of(row)) {
        links.children.push_back({rank + 1, combine_after});
    }
    if (column < trunk) links.parent.push_back({rank + 1, combine_before});
    if (column > trunk) links.parent.push_back({rank - 1, combine_after});
    if (column != trunk) return links;
    const std::uint32_t root_row = all.row_of(root);
    const auto along = [&](std::uint32_t other) { return all.at(other, all.column_of(root)); };
    if (row < root_row) links.parent.push_back({along(row + 1), combine_before});
    if (row > root_row) links.parent.push_back({along(row - 1), combine_after});
    if (row <= root_row && row != 0) links.children.push_back({along(row - 1), combine_before});
    if (row >= root_row && row + 1 != all.rows()) {
        links.children.push_back({along(row + 1), combine_after});
    }
    return links;
}

std::vector<linked_rank> storing(std::vector<linked_rank> all) {
    for (linked_rank& one : all) one.action = store;
    return all;
}

/// Everybody's block to all of its row, and the row's blocks to all other rows.
rank_schedule make_mesh_all_gather(const mesh& all, std::uint32_t ranks, std::uint32_t rank) {
    rank_schedule own{ranks, {}};
    const std::uint32_t row = all.row_of(rank);
    const std::uint32_t column = all.column_of(rank);
    const std::uint32_t length = all.length_of(row);
    schedule_step along_row;
    for (std::uint32_t i = 1; i < length; ++i) {
        const std::uint32_t to = all.at(row, (column + i) % length);
        const std::uint32_t from = all.at(row, (column + length - i) % length);
        along_row.sends.push_back({to, {{rank, 1}}});
        along_row.receives.push_back({from, {{from, 1}}});
    }
    schedule_step along_column;
    for (std::uint32_t i = 1; i < all.rows(); ++i) {
        const std::uint32_t to = (row + i) % all.rows();
        const std::uint32_t from = (row + all.rows() - i) % all.rows();
        for (std::uint32_t target = 0; target < all.length_of(to); ++target) {
            if (all.at(row, target) != rank) continue;  // of a shorter row the last one sends more
            along_column.sends.push_back({all.at(to, target), {all.blocks_of(row)}});
        }
        along_column.receives.push_back({all.at(from, column), {all.blocks_of(from)}});
    }
    if (length != 1) own.steps.push_back(std::move(along_row));
    if (all.rows() != 1) own.steps.push_back(std::move(along_column));
    return own;
}

}  // namespace

rank_schedule make_mesh_schedule(const schedule_request& request, std::uint32_t rank) {
    using enum collective_kind;
    const mesh all(request.ranks, request.group);
    if (request.collective == all_gather) return make_mesh_all_gather(all, request.ranks, rank);
    const bool is_barrier = request.collective == barrier;
    const mesh_links links = links_of(all, request.root, rank);
    rank_schedule own{is_barrier ? 0 : request.segments, {}};
    if (request.collective != broadcast) {
        append_pipeline(own, is_barrier ? storing(links.children) : links.children,
                        is_barrier ? storing(links.parent) : links.parent, own.blocks);
    }
    if (request.collective != reduce) {
        append_pipeline(own, storing(links.parent), storing(links.children), own.blocks);
    }
    return own;
}

}  // namespace selion::collectives
