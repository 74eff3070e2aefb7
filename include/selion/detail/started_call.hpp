// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <utility>

#include <selion/detail/block_call.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/team_view.hpp>
#include <selion/future.hpp>
#include <selion/reduction.hpp>
#include <selion/varying_blocks.hpp>

namespace selion::detail {

/// A collective that is started, and what it needs until it is over.
struct started_call {
    block_call call = {};
    reduction how = {};                     ///< what `call.how` says, if it combines
    std::shared_ptr<const void> kept = {};  ///< its operation, and memory for values
    std::shared_ptr<void> team_life = {};
};

/// One whose blocks differ in length. @param source,target lengths of their blocks, or none.
inline started_call varying(block_call call, std::span<const std::size_t> source,
                            std::span<const std::size_t> target) {
    struct both {
        block_lengths source, target;
    };
    auto kept = std::make_shared<both>(both{lengths(source), lengths(target)});
    if (!source.empty()) call.source_starts = kept->source.starts.data();
    if (!target.empty()) call.target_starts = kept->target.starts.data();
    call.most = SIZE_MAX;  // says that they differ; how long they are, not everybody knows
    return {.call = call, .kept = std::move(kept)};
}

/// @return fulfilled when this member's part is done.
SELION_API future<> start_block_call(const team_view& team, started_call what,
                                     std::source_location site);

}  // namespace selion::detail
