// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "machine/sim/engine.hpp"
#include "machine/sim/machine_model.hpp"
#include "machine/sim/network.hpp"
#include "machine/sim/rank_memory.hpp"
#include "machine/sim/rank_state.hpp"
#include "machine/sim/transfer.hpp"

namespace selion::machine::sim {

/// How a run differs from the machine's own.
struct run_setting {
    std::uint64_t heap_bytes = 0;  ///< reserve of each rank; 0: chosen by the number of ranks
    std::uint64_t stack_bytes = 0;
    bool has_threads = false;  ///< a thread for each rank instead of fibers
};

/// A machine while it runs: ranks, their memory, the wires between them, and what is under way. The
/// way of an operation:
///
///     call → origin's processor (regime.origin) → network → target's processor or hardware
///          (regime.target) → effect on memory → network → origin's processor (regime.reply)
class simulation final : public transport, public clock, public memory {
public:
    simulation(const machine_model& model, const run_setting& setting, machine& owner);

    /// Runs `body` on every rank. @return the first non-zero status, in the order of time.
    int run(const std::function<int(detail::rank_context&)>& body);

    // transport
    void put(detail::rank_context& context, std::uint64_t target, const void* source,
             std::size_t bytes) override;
    void get(detail::rank_context& context, void* target, std::uint64_t source,
             std::size_t bytes) override;
    void put_signal(detail::rank_context& context,
                    const detail::put_signal_request& request) override;
    std::uint64_t atomic(detail::rank_context& context,
                         const detail::atomic_request& request) override;
    void quiet(detail::rank_context& context) override;

    // clock
    std::int64_t now_ns() override { return now_ps() / 1000; }
    std::int64_t now_ps() override;
    void charge(detail::rank_context& context, const work& amount) override;
    bool wait(detail::rank_context& context, const wait_request& request) override;
    void wake(detail::rank_context& context, detail::shared_word& word) override;

    // memory
    bool commit(std::uint64_t bytes) override;
    void release(std::uint64_t bytes) override { committed_bytes_ -= bytes; }
    void discard(detail::rank_context& context, std::uint64_t offset, std::uint64_t bytes) override;
    std::uint64_t committed_bytes() const override { return committed_bytes_; }
    std::uint64_t limit_bytes() const override { return limit_bytes_; }
    bool outlives_ranks() const override { return true; }

    const std::vector<rank_state>& ranks() const { return ranks_; }
    const rank_memory& segments() const { return segments_; }
    ticks time() const { return engine_.now(); }
    engine& events() { return engine_; }
    network& wires() { return *network_; }
    const machine_model& model() const { return model_; }

private:
    void prepare(rank_state& rank, std::uint32_t number);
    rank_state& enter(detail::rank_context& context);
    void serve_inbox(rank_state& rank);
    void stand_still(rank_state& rank, standstill why);
    std::byte* address_of(std::uint64_t bits) const;

    transfer& make_transfer(rank_state& origin, transfer_kind what, std::uint64_t target,
                            std::uint64_t bytes);
    void send(rank_state& origin, transfer& what, const operation_regime& regime,
              message_class kind, std::uint64_t wire_bytes);
    void await_answer(rank_state& origin, transfer& what);
    void receive(transfer& what, ticks cost, event::action then);
    void take_effect(transfer& what);
    void send_answer(transfer& what);
    void finish(transfer& what);
    void change_word(detail::shared_word& word, detail::signal_update update);
    void word_has_changed(detail::shared_word& word);

    machine_model model_;
    machine& owner_;
    rank_memory segments_;
    std::vector<rank_state> ranks_;
    engine engine_;
    std::unique_ptr<network> network_;
    network* const follower_ = network_->follows_ranks() ? network_.get() : nullptr;
    transfer_pool transfers_;
    std::uint32_t no_sleepers_ = 0;
    std::uint64_t committed_bytes_ = 0;
    std::uint64_t limit_bytes_ = 0;
};

/// Says who waits for what, and ends the process.
[[noreturn]] void end_in_deadlock(const simulation& all);

}  // namespace selion::machine::sim
