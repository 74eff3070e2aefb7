// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <vector>

#include "collectives/team_block.hpp"
#include "machine/machine.hpp"

namespace selion::collectives {

/// What an unruly machine does wrong on purpose, so that a test can show that it would notice.
enum class fault {
    none,
    early_credit,      ///< who is told of letters that were taken is told of one too many
    early_invitation,  ///< who is invited to send a parcel is invited to send two
    torn_message,      ///< a signal may overtake its own data
};

/// A machine whose ranks map nobody else's memory, for tests of what passes between them. One rank
/// runs at a time; after every message and at every wait the seed says which one goes on, or which
/// message arrives. Messages overtake each other, also those from one rank to another: all that
/// holds is that who sees a signal sees its data. Some ranks and messages are slow: they come to
/// move when nothing else can, or by rare chance. Equal seeds give equal runs.
class unruly_machine final : public machine::transport, public machine::clock {
public:
    unruly_machine(std::uint32_t ranks, std::uint64_t seed, fault seeded = fault::none);

    /// Calls `body` for every rank and runs them all to their end.
    /// @return false when nothing could move any more; the ranks were then unwound.
    bool run(const std::function<void(detail::rank_context&, team_block&)>& body);

    std::uint64_t messages() const { return messages_; }
    std::uint64_t gets() const { return gets_; }
    const team_block& block(std::uint32_t rank) const;

    void put(detail::rank_context& context, const detail::put_request& request) override;
    void get(detail::rank_context& context, void* target, std::uint64_t source,
             std::size_t bytes) override;
    void start_get(detail::rank_context&, const detail::get_request&) override;
    std::uint64_t atomic(detail::rank_context& context,
                         const detail::atomic_request& request) override;
    void start_atomic(detail::rank_context&, const detail::atomic_request&,
                      const detail::atomic_answer&) override;
    void quiet(detail::rank_context& context) override;
    void quiet(detail::rank_context& context, std::uint32_t target) override;
    void send(detail::rank_context&, const machine::message_request&) override;
    bool can_lend(const detail::rank_context&, std::uint32_t, const void*,
                  std::size_t) const override {
        return false;
    }
    std::uint64_t most_message_bytes() const override { return 0; }
    bool poll(detail::rank_context&) override { return false; }

    std::int64_t now_ns() override { return 0; }
    bool wait(detail::rank_context& context, const machine::wait_request& request) override;
    void wake(detail::rank_context&, detail::shared_word&) override {}
    void count(detail::rank_context&, detail::shared_word&) override {}

private:
    struct stuck {};
    struct message {
        std::uint64_t target;
        std::vector<std::byte> data;
        detail::shared_word* word;  ///< null: it announces nothing
        detail::signal_update update;
        bool is_slow;
    };
    struct rank_state {
        detail::rank_context context;
        const detail::shared_word* word = nullptr;  ///< awaited; null while it can run
        std::uint64_t at_least = 0;
        bool has_ended = false;
        bool is_slow = false;
        std::condition_variable turn;
    };
    struct alignas(detail::line_bytes) line {
        std::byte bytes[detail::line_bytes];
    };

    std::byte* address_of(std::uint64_t bits) const;
    bool by_chance(std::uint32_t one_in) { return random_() % one_in == 0; }
    bool can_run(const rank_state& rank) const;
    void run_rank(std::uint32_t rank,
                  const std::function<void(detail::rank_context&, team_block&)>& body);
    void deliver(std::size_t number);
    /// Lets messages arrive until it is some rank's turn.
    void choose_next();
    void let_others(std::unique_lock<std::mutex>& lock, std::uint32_t rank);

    std::mt19937_64 random_;
    fault fault_;
    std::uint32_t slow_messages_;  ///< one in so many
    std::uint64_t stride_lines_;
    std::unique_ptr<line[]> memory_;
    std::deque<rank_state> ranks_;
    std::vector<message> on_the_way_;
    std::mutex mutex_;
    std::uint32_t running_ = 0;
    std::uint64_t sleepers_ = 0;
    bool is_stuck_ = false;
    std::uint64_t messages_ = 0;
    std::uint64_t gets_ = 0;
};

}  // namespace selion::collectives
