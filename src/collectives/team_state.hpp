// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>

#include "collectives/aligned_bytes.hpp"
#include "collectives/message_tree.hpp"
#include "collectives/team_block.hpp"
#include "collectives/team_members.hpp"
#include "machine/call_record.hpp"
#include "machine/machine.hpp"
#include "machine/simulated_memory.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/block_call.hpp"
#include "selion/detail/word_access.hpp"
#include "selion/reduction.hpp"
#include "selion/world.hpp"

namespace selion::collectives {

/// One member's private view of a team: how far it has come, and the steps of each collective.
/// Where members map each other: an arrival counter (per carrier, then central), and
/// slots that everybody reads. Where they do not: dissemination by signals, and message trees.
class team_state {
public:
    team_state(detail::rank_context& context, team_members members);
    team_state(const team_state&) = delete;
    team_state& operator=(const team_state&) = delete;

    const team_members& members() const { return members_; }

    /// Waits until all have arrived.
    void synchronise(machine::wait_reason reason);

    /// Whether all members meet at one counter that this process maps; then the next two calls, in
    /// this order, are a `synchronise` whose caller may do something between them. The last one to
    /// arrive is the first at the next meeting: the less it does between, the more often its core
    /// still owns the counter's line.
    bool meets_at_centre() const { return centre_ != nullptr; }
    /// @return whether all have arrived, so that there is nothing to wait for.
    bool arrive_at_centre() {
        goal_ += centre_members_;
        ++round_;
        return machine::word_add_quietly(context_, *centre_, 1) + 1 == goal_;
    }
    /// After the last arrival: wakes those who sleep.
    void release_centre() { detail::word_changed(context_, *centre_); }
    /// After another arrival: waits for the rest.
    void wait_at_centre(machine::wait_reason reason) {
        detail::await_word(context_, {*centre_, goal_, reason});
    }
    void broadcast(std::span<std::byte> data, std::uint32_t root);
    void all_reduce(std::byte* data, std::size_t count, const detail::reduction& how);
    /// The others, and any by a schedule that the call names.
    void run(const detail::block_call& call);
    /// Checking build: compares what all ranks are about to do; ends the job when they disagree.
    void check(const call_signature& mine);

private:
    bool is_everybody() const { return members_.name() == 0; }
    void synchronise_groups(machine::wait_reason reason);
    void meet_groups(machine::wait_reason reason);
    void synchronise_by_signals(machine::wait_reason reason);
    bool fits_into_slots(const detail::block_call& call) const;
    void run_by_messages(const detail::block_call& call);
    void run_in_slots(const detail::block_call& call);
    /// The same bytes of every block.
    struct block_part {
        std::size_t start;
        std::size_t bytes;
    };
    void publish(const detail::block_call& call, block_part part);
    void fetch(const detail::block_call& call, block_part part);
    void fetch_scattered(const detail::block_call& call, block_part part);
    void fetch_block(std::uint32_t from, std::size_t slot_start, std::span<std::byte> to,
                     const std::byte* own);
    static std::size_t part_of(std::size_t block_bytes, block_part part);
    void fetch_combined(const detail::block_call& call, block_part part);

    /// Elements at the same place in the slots of members 0 to `ranks` - 1.
    struct slot_part {
        std::size_t start;  ///< bytes from the start of each slot
        std::size_t count;
        std::uint32_t ranks;
        /// How the values of 2^k ranks, 2^j ranks, … are put together at last: as a sum (from
        /// the right) or as a prefix (from the left).
        bool from_left = false;
    };
    void prepare_partials(std::size_t element_bytes);
    void combine_slots(std::byte* to, slot_part where, const detail::reduction& how);
    void combine_strip(std::byte* to, const slot_part& where, const detail::reduction& how);
    void combine_shares(std::byte* data, std::size_t count, const detail::reduction& how);
    call_signature first_signature(const call_signature& mine);
    std::byte* own_slot();
    void write_slot(std::size_t start, std::span<const std::byte> data);
    void read_slot(std::uint32_t rank, std::size_t start, std::span<std::byte> data);
    const std::byte* slot_of(std::uint32_t rank) const;
    team_block& block(std::uint32_t member) const { return members_.block(member); }

    detail::rank_context& context_;
    team_members members_;
    team_block& own_;
    message_tree messages_;                  ///< used where members do not map each other
    std::uint64_t message_collectives_ = 0;  ///< so far
    std::uint64_t message_window_used_ = 0;  ///< of those, since all have met for their sake
    std::uint64_t message_bytes_ = 0;        ///< that those may have brought to a rank
    /// Where all members meet, one arrival for each: null where groups or messages come first.
    detail::shared_word* centre_ = nullptr;
    std::uint64_t centre_members_ = 0;
    std::uint64_t goal_ = 0;       ///< arrivals at the centre that end this round
    std::uint64_t round_ = 0;      ///< synchronisations so far
    std::uint64_t slot_turn_ = 0;  ///< collectives that used slots so far
    std::uint64_t check_turn_ = 0;
    /// Partial results on their way to one, above the first; made by the first all_reduce that
    /// needs them, and again only for larger elements.
    aligned_bytes partials_;
};

}  // namespace selion::collectives
