// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "collectives/team_members.hpp"
#include "machine/machine.hpp"
#include "machine/simulated_memory.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::collectives {

/// How all members of a team wait for each other. Where they map each other: an arrival counter,
/// per carrier and then central. Where they do not: dissemination by signals.
class team_meeting {
public:
    team_meeting(detail::rank_context& context, const team_members& members);

    /// Waits until all have arrived.
    void synchronise(machine::wait_reason reason);
    /// The same in two halves, between which nothing else of this team happens.
    void arrive();
    void wait(machine::wait_reason reason);
    /// Meets at the end of the job, which no other meeting takes for an arrival of its own: some
    /// members may still be in others, or have left one half done.
    /// @return the sum of what all give. @pre members map each other.
    std::uint64_t sum_at_end(std::uint64_t own);

    /// Whether all members meet at one counter that this process maps; then the next two calls, in
    /// this order, are a `synchronise` whose caller may do something between them. The last one to
    /// arrive is the first at the next meeting: the less it does between, the more often its core
    /// still owns the counter's line.
    bool is_central() const { return centre_ != nullptr; }
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

    /// Whether members of a carrier meet first. After `arrive` one of them leads its group: it
    /// waits for the other groups and then releases its own, which waits for that.
    bool is_in_groups() const { return members_.are_mapped() && centre_ == nullptr; }
    bool leads_group() const { return leads_group_; }
    void wait_for_groups(machine::wait_reason reason);
    void release_group();
    void wait_in_group(machine::wait_reason reason);

private:
    void arrive_in_group();
    void wait_for_rounds(machine::wait_reason reason);
    void signal_round(std::uint32_t k);
    team_block& block(std::uint32_t member) const { return members_.block(member); }

    detail::rank_context& context_;
    const team_members& members_;
    /// Where all members meet, one arrival for each: null where groups or messages come first.
    detail::shared_word* centre_ = nullptr;
    std::uint64_t centre_members_ = 0;
    std::uint64_t goal_ = 0;   ///< arrivals at the centre that end this round
    std::uint64_t round_ = 0;  ///< meetings so far, and those at the end
    std::uint64_t end_round_ = 0;
    std::uint64_t end_sums_[2] = {};  ///< so far
    bool leads_group_ = false;        ///< this member is the last of its carrier in this round
};

}  // namespace selion::collectives
