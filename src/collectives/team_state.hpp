// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "collectives/collective_plan.hpp"
#include "collectives/message_tree.hpp"
#include "collectives/pair_lines.hpp"
#include "collectives/started_collectives.hpp"
#include "collectives/team_board.hpp"
#include "collectives/team_check.hpp"
#include "collectives/team_direct.hpp"
#include "collectives/team_meeting.hpp"
#include "collectives/team_members.hpp"
#include "collectives/team_nodes.hpp"
#include "collectives/team_slots.hpp"
#include "collectives/tuning/team_tuning.hpp"
#include "selion/collective_explanation.hpp"
#include "selion/collective_sync.hpp"
#include "selion/detail/block_call.hpp"
#include "selion/reduction.hpp"

namespace selion::collectives {

/// How many collectives by messages there have been since all met for their sake.
struct message_window {
    std::uint64_t collectives = 0;
    std::uint64_t bytes = 0;  ///< that they may have brought to a rank
    /// Counts one more. @return whether all have to meet, with which a new window begins.
    bool is_full_with(std::uint64_t more_bytes, std::uint64_t most_collectives);
};

/// One member's private view of a team: how far it has come, which way each collective goes, and
/// the ways themselves.
class team_state {
public:
    team_state(detail::rank_context& context, team_members members);
    team_state(const team_state&) = delete;
    team_state& operator=(const team_state&) = delete;
    ~team_state();

    const team_members& members() const { return members_; }
    team_meeting& meeting() { return meeting_; }

    /// All ranks have told where they are, and rank 0 what was measured: before the first
    /// collective of the program. Only the team of all is there then.
    void learn_network();

    /// Between the halves of a split barrier that the program has begun.
    bool has_arrived() const { return has_arrived_; }
    void set_arrived(bool has_arrived);
    /// A collective has ended before it was done: no other may follow.
    bool is_broken() const { return is_broken_; }
    void set_broken();

    void run(const detail::block_call& call);
    /// See `team::choose`.
    void choose(collective_kind what, const std::optional<collective_choice>& how);
    /// See `team::explain`.
    collective_explanation explain(collective_kind what, std::size_t bytes);
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
    /// A collective that is to be started. @param call what members have to agree on.
    std::unique_ptr<started_collective> prepare(detail::started_call what, const placed_call& call,
                                                collective_sync sync, detail::future_state& result);
    /// Where calls are compared: see `team_check`.
    void check(const placed_call& mine) { check_.compare(mine); }

private:
    /// A schedule, and whether it is the one that was asked for: else sums keep their order.
    struct wanted_schedule {
        schedule_request request;
        bool is_chosen;
    };
    void run_as(const detail::block_call& call, const collective_choice& how, bool is_chosen);
    void run_tuned(const detail::block_call& call, const collective_choice& how);
    bool has_tuned_barrier();
    bool is_own_tree(const schedule_request& wanted) const;
    const rank_schedule& schedule_of(const detail::block_call& call, const wanted_schedule& wanted);
    void run_schedule(const detail::block_call& call, const wanted_schedule& wanted,
                      message_way& way);
    void run_by_nodes(const detail::block_call& call);
    void run_by_messages(const detail::block_call& call, const wanted_schedule& wanted);
    pair_lines& lines();
    pair_lines::introduction introduce(std::size_t count);
    bool make_lines();
    pair_lines* lines_within_node();
    void make_lines_among(const std::vector<std::uint32_t>& mapped,
                          const std::vector<pair_lines::introduction>& all);
    /// Whether a barrier is a meeting at one counter and nothing else.
    void note_plainness();

    detail::rank_context& context_;
    team_members members_;
    team_meeting meeting_;
    std::array<std::optional<collective_choice>, collective_kinds> chosen_;
    team_tuning tuned_;
    bool has_other_barrier_ = false;  ///< than all meeting at once
    bool has_arrived_ = false;
    bool is_broken_ = false;

    team_board board_;
    team_slots slots_;
    team_direct direct_;
    team_nodes nodes_;                 ///< used where they are several, of several members
    message_tree messages_;            ///< used where members do not map each other
    std::optional<pair_lines> lines_;  ///< among members that map each other
    std::optional<pair_lines::introduction> introduced_;  ///< until they are made of it
    bool lacks_lines_ = false;  ///< a member's heap had no room for them, or it is alone
    schedule_store schedules_;
    std::uint64_t message_collectives_ = 0;  ///< so far
    message_window window_;
    std::uint64_t started_ = 0;  ///< so far
    message_window started_window_;
    std::shared_ptr<const bool> last_meeting_;  ///< of those; whether it is over
    team_check check_;
};

}  // namespace selion::collectives
