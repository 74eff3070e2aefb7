// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>

#include "collectives/team_block.hpp"
#include "machine/call_record.hpp"
#include "machine/machine.hpp"
#include "selion/reduction.hpp"
#include "selion/world.hpp"

namespace selion::collectives {

/// One rank's private view of the team of all: how far it has come, and the steps of each
/// collective. Simple algorithms: an arrival counter (per carrier, then central), and slots that
/// everybody reads.
class team_state {
public:
    explicit team_state(detail::rank_context& context);

    /// Waits until all have arrived.
    void synchronise(machine::wait_reason reason);
    void broadcast(std::span<std::byte> data, std::uint32_t root);
    void all_reduce(std::byte* data, std::size_t count, const detail::reduction& how);
    /// Checking build: compares what all ranks are about to do; ends the job when they disagree.
    void check(const call_signature& mine);

private:
    void synchronise_mapped(machine::wait_reason reason);
    void synchronise_by_signals(machine::wait_reason reason);
    void meet(detail::shared_word& counter, std::uint64_t target, machine::wait_reason reason);
    void combine_slots(std::byte* data, std::size_t first, std::size_t count,
                       const detail::reduction& how);
    void combine_shares(std::byte* data, std::size_t count, const detail::reduction& how);
    std::byte* own_slot();
    /// Bytes of a rank's current slot: in place where mapped, else fetched into `buffer_`.
    const std::byte* slot_of(std::uint32_t rank, std::size_t offset, std::size_t bytes);
    team_block& block(std::uint32_t rank) const;

    /// As aligned as a slot, for elements that must be.
    struct alignas(detail::line_bytes) slot_copy {
        std::byte bytes[slot_bytes];
    };

    detail::rank_context& context_;
    team_block& own_;
    std::uint64_t round_ = 0;      ///< synchronisations so far
    std::uint64_t slot_turn_ = 0;  ///< collectives that used slots so far
    std::uint64_t check_turn_ = 0;
    std::unique_ptr<slot_copy> buffer_;  ///< null where all slots are mapped
};

}  // namespace selion::collectives
