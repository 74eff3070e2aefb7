// SPDX-License-Identifier: Apache-2.0
#include "selion/dma.hpp"

#include <fmt/format.h>

#include <cstring>

#include "machine/machine.hpp"
#include "selion/detail/caller.hpp"
#include "selion/detail/slow_path.hpp"
#include "selion/expect.hpp"
#include "selion/split_phase.hpp"

namespace selion::detail {
namespace {

/// Distances within a rank's memory are far below this.
constexpr std::int64_t most_bytes = std::int64_t{1} << offset_bits;

/// All rows of a block lie in the memory of one rank, and there is something to read.
void expect_block(const erased_descriptor& block, std::size_t number, std::source_location site) {
    const auto fails = [&](const char* why) {
        return fmt::format("start_dma: block {} of the chain {}", number, why);
    };
    const auto most = static_cast<std::size_t>(most_bytes);
    SELION_EXPECT_AT(block.row_bytes < most && block.rows < most, site,
                     fails("is larger than the memory of any rank"));
    SELION_EXPECT_AT(block.source != nullptr || block.row_bytes == 0 || block.rows == 0, site,
                     fails("has no source"));
    if (block.rows < 2) return;
    __extension__ using wide = __int128;
    const wide last = static_cast<wide>(block.target_stride) * static_cast<wide>(block.rows - 1) +
                      static_cast<wide>(block.target & offset_mask);
    SELION_EXPECT_AT(last >= 0 && last < most_bytes, site,
                     fails("has rows beyond the memory of its rank"));
}

}  // namespace

/// Rows reach a rank in their order, so the last one of a block counts for it; a block without rows
/// is one of no bytes.
void start_dma(std::span<const erased_descriptor> chain, const counters& when,
               std::source_location site) {
    rank_context& context = context_of_caller(site);
    dma_stage stage = dma_stage::set_up;
    for (std::size_t number = 0; number < chain.size(); ++number) {
        const erased_descriptor& block = chain[number];
        expect_block(block, number, site);
        // A block that this process maps is a copy: the engine has nothing to do with it.
        const bool is_copy = mapped_address(context, block.target) != nullptr;
        put_request row{.target = block.target,
                        .source = block.source,
                        .bytes = block.rows == 0 ? 0 : block.row_bytes};
        for (std::size_t left = block.rows; left > 1; --left) {
            row.stage = stage;
            start_put(row, site);
            if (!is_copy) stage = dma_stage::next_row;
            row.target += static_cast<std::uint64_t>(block.target_stride);
            row.source = static_cast<const std::byte*>(row.source) + block.source_stride;
        }
        row.stage = stage;
        row.signal = when.target.bits();
        row.update = {1, true};
        row.origin = when.origin;
        row.completion = when.completion;
        start_put(row, site);
        if (!is_copy) stage = dma_stage::next_block;
    }
}

}  // namespace selion::detail
