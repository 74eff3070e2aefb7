// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/call_book.hpp"
#include "collectives/message_inbox.hpp"
#include "collectives/message_way.hpp"
#include "collectives/schedule_runner.hpp"
#include "collectives/started_order.hpp"
#include "collectives/team_block.hpp"
#include "collectives/team_members.hpp"
#include "selion/detail/block_call.hpp"
#include "selion/detail/message_function.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/detail/shared_word.hpp"
#include "selion/detail/started_call.hpp"
#include "selion/future.hpp"
#include "selion/schedule.hpp"

namespace selion::collectives {

class started_collectives;

/// Messages of a started collective, which are taken when they are there.
class started_way final : public message_way {
public:
    started_way(message_inbox& inbox, const team_members& members, const collective_name& name,
                const placed_call& call)
        : inbox_(inbox), members_(members), name_(name), call_(call) {}

    void send(std::uint32_t member, message_pieces data, bool may_lend) override;
    /// @pre it is there.
    std::span<const std::byte> receive(std::uint32_t member, std::size_t expected,
                                       std::byte* place) override;
    void end_step() override {}

    /// Lets member 0 know what the own call is, to be compared with those of the others.
    void tell_call();
    /// Whether all messages of a step are there.
    bool has_all(const schedule_step& step) const;

private:
    message_name name_of(std::uint32_t member) const {
        return {name_, members_.world_rank(member)};
    }

    message_inbox& inbox_;
    const team_members& members_;
    collective_name name_;
    placed_call call_;
    message_inbox::message last_;
    packed_pieces packed_;
    std::size_t sent_bytes_ = 0;  ///< of the message that is being sent
};

/// One of them, at one member.
class started_collective {
public:
    /// How it is carried out.
    struct plan {
        collective_name name;
        placed_call call;
        bool is_compared;  ///< with what other members start, whatever messages come
        rank_schedule schedule;
        struct {
            std::size_t first = 0;
            std::size_t end = 0;
        } own_steps;                            ///< those before and behind are meetings
        std::shared_ptr<const bool> may_begin;  ///< null: at once
        std::shared_ptr<bool> is_over;          ///< set when it is, for others that wait for that
    };
    /// @param what its memory stays until the future is fulfilled.
    started_collective(detail::rank_context& context, const team_members& members,
                       message_inbox& inbox, detail::started_call what, plan how,
                       detail::future_state& result);

    /// Goes on as far as messages allow. @return whether it is over.
    bool advance();

    const collective_name& name() const { return how_.name; }
    const placed_call& call() const { return how_.call; }
    std::uint32_t members() const { return members_.count(); }
    /// Whether it may not begin before the other one is over.
    bool awaits(const started_collective& meeting) const {
        return how_.may_begin != nullptr && how_.may_begin == meeting.how_.is_over;
    }
    /// Whether it is over because a member has died.
    bool has_failed() const { return has_failed_; }
    /// Whether it has stopped in the middle of a step: a wait with a deadline moved it on, which
    /// passed while there was no room for a message.
    bool is_stopped() const { return is_stopped_; }

private:
    bool take_steps();
    bool send_all();
    void prepare();
    void finish();
    void give_memory_back();

    const team_members& members_;
    detail::started_call what_;
    plan how_;
    std::optional<started_way> way_;  ///< none of both: it is over
    std::optional<schedule_runner> runner_;
    detail::future_state& result_;
    std::size_t step_ = 0;
    bool has_told_ = false;  ///< the own call, where it is compared
    bool is_prepared_ = false;
    bool is_finished_ = false;
    bool has_failed_ = false;
    bool has_sent_ = false;  ///< the messages of this step
    bool is_stopped_ = false;
};

/// What one rank has started. The protocol: started.md.
class started_collectives {
public:
    started_collectives() = default;
    ~started_collectives();
    started_collectives(const started_collectives&) = delete;
    started_collectives& operator=(const started_collectives&) = delete;

    message_inbox& inbox() { return inbox_; }
    /// By the rank's own code.
    void start(std::unique_ptr<started_collective> one);
    /// By the rank's own code: gives back what those need no more that are over.
    void let_go();
    /// Moves all on, unless somebody does: then that one looks once more.
    void advance();
    /// When a wait or a call that has a deadline is over: those that it has stopped go on in the
    /// next call of the rank that waits.
    void go_on(detail::rank_context& context);
    /// By the rank's own code: waits until all are over.
    void finish(detail::rank_context& context);
    /// Receives a message of a started collective, and what a member has started.
    static void receive(detail::incoming_message& here);
    static void receive_call(detail::incoming_message& here);

private:
    struct node {
        std::unique_ptr<started_collective> one;
        std::uint64_t start;  ///< how many the rank had started with it
        node* next;

        const collective_name& name() const { return one->name(); }
        std::uint64_t number() const { return start; }
        bool awaits(const node& meeting) const { return one->awaits(*meeting.one); }
    };
    /// A collective of this rank that was under way lately.
    struct known_call {
        collective_name name;
        placed_call call;
        std::uint32_t members;
        bool has_failed = false;
    };
    void add_to(message_inbox& inbox, detail::incoming_message& here);
    void take_news();
    void advance_awake();
    void take_added();
    void compare_told();
    void expect_same_start(const node& own);
    void expect_same_as_over(const collective_name& name);
    void end(node& one);
    static void add(std::atomic<node*>& list, node* one);
    static void drop(node* list);

    message_inbox inbox_;
    message_inbox told_;  ///< calls that members have told
    call_book book_;      ///< of those, what not all members have told yet; of who moves
    std::atomic<node*> added_ = nullptr;  ///< by the rank, the last one first
    std::atomic<node*> over_ = nullptr;   ///< for the rank to let go of
    std::atomic<std::uint64_t> movers_ = 0;
    std::atomic<bool> has_stopped_ = false;  ///< one of them
    std::uint64_t started_ = 0;              ///< ever; by the rank
    detail::shared_word finished_{};         ///< of those, how many are over
    std::deque<known_call> over_calls_;      ///< the latest ones; of who moves
    started_order<node> order_;              ///< of what is under way; of who moves
    std::vector<collective_name> come_;      ///< whose messages have come last; of who moves
    std::uint32_t heeded_deaths_ = 0;        ///< how many all have heeded; of who moves
};

}  // namespace selion::collectives
