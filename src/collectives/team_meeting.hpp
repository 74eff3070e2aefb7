// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/node_gate.hpp"
#include "collectives/team_members.hpp"
#include "machine/machine.hpp"
#include "machine/simulated_memory.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::collectives {

/// The counter at which all members of a team meet, as one of them sees it.
struct central_meeting {
    /// The member's context while its barrier is a meeting here and nothing else; else null.
    const void* plain_for = nullptr;
    detail::shared_word* word = nullptr;  ///< null: members meet otherwise
    std::uint64_t members = 0;            ///< arrivals of a meeting
    std::uint64_t goal = 0;               ///< arrivals that end this one

    /// @return whether all have arrived: then there is nothing to wait for, and those who sleep are
    /// to be woken.
    bool arrive(detail::rank_context& context) {
        goal += members;
        return machine::word_add_quietly(context, *word, 1) + 1 == goal;
    }
    /// The same where memory is real.
    bool arrive_here() {
        goal += members;
        return detail::word_add_quietly(*word, 1) + 1 == goal;
    }
};

/// How all members of a team wait for each other. Where they map each other: an arrival counter,
/// per carrier and then central. Where they do not: dissemination by signals, of all members or,
/// where nodes have several of them, of one for each node (nodes.md).
class team_meeting {
public:
    team_meeting(detail::rank_context& context, const team_members& members);

    /// Waits until all have arrived.
    void synchronise(machine::wait_reason reason);
    /// The same in two halves, between which nothing else of this team happens.
    void arrive();
    void wait(machine::wait_reason reason);
    /// The same of a split barrier. Between its halves a member may make no calls for long, so
    /// nobody waits for anything that it does there, unless they are too many for that (nodes.md).
    void tell_arrival();
    void await_arrivals(machine::wait_reason reason);
    /// Meets at the end of the job, which no other meeting takes for an arrival of its own: some
    /// members may still be in others, or have left one half done.
    /// @return the sum of what all give. @pre members map each other.
    std::uint64_t sum_at_end(std::uint64_t own);

    /// Where all members meet at one counter that this process maps; else its word is null.
    central_meeting& centre() { return centre_; }

    /// How members of the own node wait for each other, where there are nodes.
    node_gate& gate() { return gate_; }

    /// Whether members of a carrier meet first. After `arrive` one of them leads its group: it
    /// waits for the other groups and then releases its own, which waits for that.
    bool is_in_groups() const { return members_.are_mapped() && !is_central(); }
    bool leads_group() const { return leads_group_; }
    void wait_for_groups(machine::wait_reason reason);
    void release_group();
    void wait_in_group(machine::wait_reason reason);

    /// A meeting at the centre that ends when the last one to arrive says so.
    /// @return whether this member is that.
    bool arrive_for_release() { return centre_.arrive(context_); }
    void release_all();
    void wait_for_release(machine::wait_reason reason);

private:
    bool is_central() const { return centre_.word != nullptr; }
    void arrive_at_centre();
    void wait_at_centre(machine::wait_reason reason);
    void arrive_in_group();
    void arrive_at_node();
    void wait_at_node(machine::wait_reason reason);
    void wait_for_rounds(machine::wait_reason reason);
    void signal_round(std::uint32_t k);
    void signal(std::uint32_t member, std::size_t word);
    bool tell_each() const;
    bool is_last_of_node();
    node_map::range own_node() const;
    std::uint32_t parties() const;
    team_block& block(std::uint32_t member) const { return members_.block(member); }

    detail::rank_context& context_;
    const team_members& members_;
    central_meeting centre_;
    node_gate gate_;
    bool has_signalled_ = false;  ///< the first round of this meeting
    std::uint64_t round_ = 0;  ///< meetings of groups or by messages so far, and those at the end
    std::uint64_t told_ = 0;   ///< split barriers of which members tell each other one by one
    std::uint64_t end_round_ = 0;
    std::uint64_t end_sums_[2] = {};  ///< so far
    bool leads_group_ = false;        ///< this member is the last of its carrier in this round
};

}  // namespace selion::collectives
