// SPDX-License-Identifier: Apache-2.0
#include "selion/dma.hpp"

#include <cstring>

#include "machine/machine.hpp"
#include "selion/detail/slow_path.hpp"
#include "selion/split_phase.hpp"

namespace selion::detail {

/// Rows reach a rank in their order, so the last one of a block counts for it; a block without rows
/// is one of no bytes.
void start_dma(std::span<const erased_descriptor> chain, const counters& when,
               std::source_location site) {
    dma_stage stage = dma_stage::set_up;
    for (const erased_descriptor& block : chain) {
        put_request row{.target = block.target,
                        .source = block.source,
                        .bytes = block.rows == 0 ? 0 : block.row_bytes};
        for (std::size_t left = block.rows; left > 1; --left) {
            row.stage = stage;
            start_put(row, site);
            stage = dma_stage::next_row;
            row.target += static_cast<std::uint64_t>(block.target_stride);
            row.source = static_cast<const std::byte*>(row.source) + block.source_stride;
        }
        row.stage = stage;
        row.signal = when.target.bits();
        row.update = {1, true};
        row.origin = when.origin;
        row.completion = when.completion;
        start_put(row, site);
        stage = dma_stage::next_block;
    }
}

}  // namespace selion::detail
