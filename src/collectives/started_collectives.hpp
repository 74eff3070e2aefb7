// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/message_inbox.hpp"
#include "collectives/message_way.hpp"
#include "collectives/schedule_runner.hpp"
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
                const call_signature& call)
        : inbox_(inbox), members_(members), name_(name), call_(call) {}

    void send(std::uint32_t member, message_pieces data, bool may_lend) override;
    /// @pre it is there.
    std::span<const std::byte> receive(std::uint32_t member, std::size_t expected) override;
    void end_step() override {}

    /// Whether all messages of a step are there. Ends the job when one of them belongs to another
    /// call.
    bool has_all(detail::rank_context& context, const schedule_step& step) const;

private:
    message_name name_of(std::uint32_t member) const {
        return {name_, members_.world_rank(member)};
    }
    void expect_same_call(detail::rank_context& context, std::uint32_t member) const;

    message_inbox& inbox_;
    const team_members& members_;
    collective_name name_;
    call_signature call_;
    message_inbox::message last_;
    std::vector<std::byte> packed_;
};

/// One of them, at one member.
class started_collective {
public:
    /// How it is carried out.
    struct plan {
        collective_name name;
        call_signature call;
        rank_schedule schedule;
        std::shared_ptr<const bool> may_begin;  ///< null: at once
        std::shared_ptr<bool> is_over;          ///< set when it is, for others that wait for that
    };
    /// @param what its memory stays until the future is fulfilled.
    started_collective(detail::rank_context& context, const team_members& members,
                       message_inbox& inbox, detail::started_call what, plan how,
                       detail::future_state& result);

    /// Goes on as far as messages allow. @return whether it is over.
    bool advance();

private:
    detail::rank_context& context_;
    detail::started_call what_;
    plan how_;
    started_way way_;
    schedule_runner runner_;
    detail::future_state& result_;
    std::size_t step_ = 0;
    bool has_begun_ = false;
    bool has_sent_ = false;  ///< the messages of this step
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
    /// Moves all on, unless somebody does: then that one looks once more.
    void advance();
    /// By the rank's own code: waits until all are over.
    void finish(detail::rank_context& context);
    /// Receives a message of a started collective.
    static void receive(detail::delivery& here);

private:
    struct node {
        std::unique_ptr<started_collective> one;
        node* next;
    };
    void advance_all();
    void take_added();
    static void add(std::atomic<node*>& list, node* one);
    static void drop(node* list);

    message_inbox inbox_;
    std::atomic<node*> added_ = nullptr;  ///< by the rank, the last one first
    std::atomic<node*> over_ = nullptr;   ///< for the rank to let go of
    std::atomic<std::uint64_t> movers_ = 0;
    std::uint64_t started_ = 0;       ///< ever; by the rank
    detail::shared_word finished_{};  ///< of those, how many are over
    std::list<node*> under_way_;      ///< in the order of their starts; of who moves them
};

}  // namespace selion::collectives
