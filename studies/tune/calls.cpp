// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"

namespace tune {

using enum selion::collective_kind;

caller::caller(const selion::team& team, selion::collective_kind what, std::size_t bytes)
    : team_(team), what_(what), block_(bytes / sizeof(double)) {
    const bool has_all = what == reduce_scatter || what == gather || what == all_gather ||
                         what == scatter || what == exchange;
    if (has_all) blocks_.resize(block_.size() * team.size());
    if (what == exchange) more_blocks_.resize(blocks_.size());
}

/// Who is root takes turns, so that nobody can run ahead; not in a reduce, whose sums are made at
/// member 0 anyway. Zeros stay zeros.
void caller::call(std::uint64_t turn) {
    const auto root = static_cast<std::uint32_t>(turn % team_.size());
    const std::span block(block_);
    const std::span blocks(blocks_);
    switch (what_) {
        case barrier: return team_.barrier();
        case broadcast: return team_.broadcast(block, root);
        case reduce: return team_.reduce(block, selion::plus, 0u);
        case all_reduce: return team_.all_reduce(block, selion::plus);
        case reduce_scatter: return team_.reduce_scatter(blocks, block, selion::plus);
        case scan: return team_.scan(block, selion::plus);
        case exscan: return team_.exscan(block, selion::plus, 0.0);
        case gather: return team_.gather(block, blocks, root);
        case all_gather: return team_.all_gather(block, blocks);
        case scatter: return team_.scatter(blocks, block, root);
        case exchange: break;
    }
    team_.exchange(blocks, std::span(more_blocks_));
}

}  // namespace tune
