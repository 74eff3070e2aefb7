// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "coherence/coherent_part.hpp"
#include "selion/detail/message_function.hpp"

namespace selion::coherence {

/// One rank's parts of all coherent spaces, by the spaces' numbers. Lives until the job ends.
class coherent_parts {
public:
    /// The lowest free number: the same on all ranks, because spaces are made collectively.
    std::uint64_t next_number() const;
    /// Those that there have been.
    std::uint64_t made() const { return made_; }
    /// @pre `shape.number` is `next_number()`.
    coherent_part& make(detail::rank_context& context, const space_shape& shape);
    void remove(std::uint64_t number);
    /// Makes a rank that only hits in some of them look after its messages. By any thread that
    /// works for the rank, while its own makes and removes parts.
    void call_for_attention(detail::rank_context& caller, std::uint32_t rank) const;
    /// Of those that have not been given back.
    void finish_traces();
    /// @return the part whose space has the byte; null: none has.
    coherent_part* find(std::uint64_t offset) const;
    /// Whether a view is of one of them.
    bool has(const detail::block_view* view) const;

private:
    std::vector<std::unique_ptr<coherent_part>> parts_;
    std::uint64_t made_ = 0;
    mutable std::atomic_flag is_looked_at_;  ///< `views_`, one at a time, for some stores
    std::vector<std::uint64_t> views_;       ///< offsets of the parts' views, for all threads
};

/// Those of the rank, made when they are asked for.
coherent_parts& parts_of(detail::rank_context& context);

/// What messages of the protocol name.
void receive_block(detail::incoming_message& here);

}  // namespace selion::coherence
