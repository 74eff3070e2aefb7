// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <source_location>

#include "collectives/aligned_bytes.hpp"
#include "collectives/collective_plan.hpp"
#include "collectives/data_lender.hpp"
#include "collectives/message_tree.hpp"
#include "collectives/ordered_combination.hpp"
#include "collectives/pair_lines.hpp"
#include "collectives/team_block.hpp"
#include "collectives/team_board.hpp"
#include "collectives/team_members.hpp"
#include "collectives/tuning/team_tuning.hpp"
#include "machine/call_record.hpp"
#include "machine/machine.hpp"
#include "machine/simulated_memory.hpp"
#include "onesided/waiting.hpp"
#include "selion/collective_explanation.hpp"
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
    ~team_state();
    team_state(const team_state&) = delete;
    team_state& operator=(const team_state&) = delete;

    const team_members& members() const { return members_; }

    /// Waits until all have arrived.
    void synchronise(machine::wait_reason reason);
    /// The same in two halves, between which nothing else of this team happens.
    void arrive();
    void wait(machine::wait_reason reason);
    /// Between the halves of a split barrier that the program has begun.
    bool has_arrived() const { return has_arrived_; }
    void set_arrived(bool has_arrived);
    /// A collective has ended before it was done: no other may follow.
    bool is_broken() const { return is_broken_; }
    void set_broken();

    /// Whether all members meet at one counter that this process maps; then the next two calls, in
    /// this order, are a `synchronise` whose caller may do something between them. The last one to
    /// arrive is the first at the next meeting: the less it does between, the more often its core
    /// still owns the counter's line.
    bool meets_at_centre() const { return centre_ != nullptr && !is_unusual_; }
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
    void run(const detail::block_call& call);
    /// See `team::choose`.
    void choose(collective_kind what, const std::optional<collective_choice>& how);
    /// See `team::explain`.
    collective_explanation explain(collective_kind what, std::size_t bytes) const;
    /// A barrier of the members, as it has been chosen.
    void meet();
    /// A broadcast, and an all_reduce in place.
    void share(std::span<std::byte> data, std::uint32_t root) {
        run(detail::moving(collective_kind::broadcast, data.data(), data.data(), data.size(),
                           root));
    }
    void combine(std::byte* data, std::size_t count, const detail::reduction& how) {
        run({collective_kind::all_reduce, data, data, count, how.element_bytes, &how});
    }
    /// Checking build: compares what all ranks are about to do; ends the job when they disagree.
    void check(const call_signature& mine);

private:
    bool is_everybody() const { return members_.name() == 0; }
    void arrive_in_group();
    void wait_in_group(machine::wait_reason reason);
    void wait_for_groups(machine::wait_reason reason);
    void release_group();
    bool meets_in_groups() const { return members_.are_mapped() && centre_ == nullptr; }
    void wait_for_rounds(machine::wait_reason reason);
    void signal_round(std::uint32_t k);
    bool is_chosen(const detail::block_call& call) const;
    void run_as(const detail::block_call& call, const collective_choice& how);
    void run_tuned(const detail::block_call& call, const collective_choice& how);
    bool has_tuned_barrier() const;
    void run_schedule(const detail::block_call& call, schedule_request request, message_way& way);
    void run_by_messages(const detail::block_call& call, const schedule_request& request);
    pair_lines& lines();
    bool make_lines();

    std::uint32_t members_combined(const detail::block_call& call) const;
    bool gets_result(const detail::block_call& call) const;
    static bool is_prefix(collective_kind what) {
        return what == collective_kind::scan || what == collective_kind::exscan;
    }

    void run_on_board(const detail::block_call& call);
    void show_on_board(const detail::block_call& call);
    void read_board(const detail::block_call& call);
    void combine_board(const detail::block_call& call);

    bool can_lend();
    void run_directly(const detail::block_call& call);
    void broadcast_directly(const detail::block_call& call);
    void all_reduce_directly(const detail::block_call& call);
    void exchange_directly(const detail::block_call& call);
    /// A part of what a member has lent.
    struct lent_part {
        std::size_t start;
        std::size_t staged_before;  ///< what it stages earlier
        std::size_t bytes;
    };
    void copy_lent(std::byte* to, std::uint32_t from, lent_part part);
    struct shares;
    void reduce_round(std::byte* data, std::size_t count, const detail::reduction& how);
    void combine_lent(std::byte* data, const shares& all, const detail::reduction& how);

    void run_in_slots(const detail::block_call& call);
    /// The same bytes of every block.
    struct block_part {
        std::size_t start;
        std::size_t bytes;
    };
    void publish(const detail::block_call& call, block_part part);
    void fetch(const detail::block_call& call, block_part part);
    void fetch_broadcast(const detail::block_call& call, block_part part);
    void fetch_scattered(const detail::block_call& call, block_part part);
    void fetch_block(std::uint32_t from, std::size_t slot_start, std::span<std::byte> to,
                     const std::byte* own);
    void fetch_combined(const detail::block_call& call, block_part part);
    void combine_slots(const detail::block_call& call, std::byte* to, std::size_t start,
                       std::size_t count);
    void combine_shares(const detail::block_call& call, std::byte* data, std::size_t count);
    void all_reduce_by_groups(const detail::block_call& call);
    std::size_t part_bytes(const detail::block_call& call) const;
    static std::size_t part_of(std::size_t block_bytes, block_part part);
    call_signature first_signature(const call_signature& mine);
    std::byte* own_slot();
    void write_slot(std::size_t start, std::span<const std::byte> data);
    void read_slot(std::uint32_t rank, std::size_t start, std::span<std::byte> data);
    const std::byte* slot_of(std::uint32_t rank) const;
    team_block& block(std::uint32_t member) const { return members_.block(member); }

    detail::rank_context& context_;
    team_members members_;
    team_block& own_;
    message_tree messages_;  ///< used where members do not map each other
    std::array<std::optional<collective_choice>, collective_kinds> chosen_;
    team_tuning tuned_;
    bool has_other_barrier_ = false;  ///< than all meeting at once
    bool has_arrived_ = false;
    bool is_broken_ = false;
    bool is_unusual_ = false;  ///< one of these: a barrier is not its bare steps
    team_board board_;
    std::optional<pair_lines> lines_;
    bool lacks_lines_ = false;  ///< a member's heap had no room for them
    data_lender lender_;
    std::optional<bool> can_lend_;
    std::uint64_t stage_ = detail::null_address;  ///< in the own segment; null: none is needed
    aligned_bytes strip_;
    aligned_bytes copy_;
    schedule_store schedules_;
    ordered_combination combination_;
    std::uint64_t message_collectives_ = 0;  ///< so far
    std::uint64_t message_window_used_ = 0;  ///< of those, since all have met for their sake
    std::uint64_t message_bytes_ = 0;        ///< that those may have brought to a rank
    /// Where all members meet, one arrival for each: null where groups or messages come first.
    detail::shared_word* centre_ = nullptr;
    std::uint64_t centre_members_ = 0;
    std::uint64_t goal_ = 0;       ///< arrivals at the centre that end this round
    std::uint64_t round_ = 0;      ///< synchronisations so far
    bool leads_group_ = false;     ///< this member is the last of its carrier in this round
    std::uint64_t slot_turn_ = 0;  ///< collectives that used slots so far
    std::uint64_t check_turn_ = 0;
};

}  // namespace selion::collectives
