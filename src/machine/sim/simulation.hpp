// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "machine/machine.hpp"
#include "machine/sim/description/run_setting.hpp"
#include "machine/sim/engine/engine.hpp"
#include "machine/sim/model/machine_model.hpp"
#include "machine/sim/node_memory.hpp"
#include "machine/sim/perturbation.hpp"
#include "machine/sim/rank_memory.hpp"
#include "machine/sim/rank_state.hpp"
#include "machine/sim/transfer.hpp"
#include "machine/sim/wires/network.hpp"
#include "machine/simulated_memory.hpp"
#include "meters/record/link_use.hpp"
#include "meters/record/occurrence.hpp"

namespace selion::machine::sim {

/// A machine while it runs: ranks, their memory, the wires between them, and what is under way. The
/// way of an operation:
///
///     call → origin's processor (regime.origin) → network → target's processor or hardware
///          (regime.target) → effect on memory → network → origin's processor (regime.reply)
class simulation final : public transport, public clock, public memory, public simulated_memory {
public:
    simulation(const machine_model& model, const run_setting& setting, machine& owner);

    /// Runs `body` on every rank. @return the first non-zero status, in the order of time.
    int run(const job& work);
    /// See `launcher`.
    void note_status(detail::rank_context& context, int status);
    /// See `launcher`: of ranks whose functions have returned.
    bool call_beside(const detail::rank_context& context,
                     void (*function)(detail::rank_context&, void*), void* argument);

    // transport
    void put(detail::rank_context& context, const detail::put_request& request) override;
    void put_to_all(detail::rank_context& context, std::span<const std::uint64_t> targets,
                    const void* source, std::size_t bytes) override;
    void get(detail::rank_context& context, void* target, std::uint64_t source,
             std::size_t bytes) override;
    void start_get(detail::rank_context& context, const detail::get_request& request) override;
    std::uint64_t atomic(detail::rank_context& context,
                         const detail::atomic_request& request) override;
    void start_atomic(detail::rank_context& context, const detail::atomic_request& request,
                      const detail::atomic_answer& answer) override;
    void quiet(detail::rank_context& context) override;
    void quiet(detail::rank_context& context, std::uint32_t target) override;
    void send(detail::rank_context& context, const message_request& request) override;
    bool can_lend(const detail::rank_context&, std::uint32_t, const void*,
                  std::size_t) const override {
        return false;
    }
    std::uint64_t most_message_bytes() const override { return UINT32_MAX; }
    bool poll(detail::rank_context& context) override;
    bool replies_keep_order() const override { return true; }
    std::optional<meters::router_events> router_events(detail::rank_context& context) override;
    const meters::sent_messages* sent_messages(const detail::rank_context& context) const override {
        return &ranks_[context.rank].sent;
    }

    // clock
    std::int64_t now_ns() override { return now_ps() / 1000; }
    std::int64_t now_ps() override;
    std::int64_t stamp_ps() override;
    std::int64_t stamp_ticks() override;
    tick_scale scale_of_ticks() override;
    void charge(detail::rank_context& context, const work& amount) override;
    void fall_in(detail::rank_context& context) override;
    bool wait(detail::rank_context& context, const wait_request& request) override;
    void wake(detail::rank_context& context, detail::shared_word& word) override;
    void count(detail::rank_context& context, detail::shared_word& word) override;

    // simulated_memory: of ranks of one process
    std::uint64_t load(detail::rank_context& context, const detail::shared_word& word) override;
    void store(detail::rank_context& context, detail::shared_word& word,
               std::uint64_t value) override;
    std::uint64_t add(detail::rank_context& context, detail::shared_word& word,
                      std::uint64_t amount) override;
    void touch(detail::rank_context& context, const void* place, std::size_t bytes,
               bool writes) override;

    // memory
    bool commit(std::uint64_t bytes) override;
    void release(std::uint64_t bytes) override;
    void discard(detail::rank_context& context, std::uint64_t offset, std::uint64_t bytes) override;
    std::uint64_t committed_bytes() const override;
    std::uint64_t limit_bytes() const override;
    bool is_of_each_rank() const override { return model_.memory_bytes != 0; }
    bool outlives_ranks() const override { return true; }

    /// From now on single messages are recorded.
    void record_messages() { records_messages_ = true; }
    meters::network_use network_use() const;

    const std::vector<rank_state>& ranks() const { return ranks_; }
    const rank_memory& segments() const { return segments_; }
    ticks time() const { return engine_.now(); }
    engine& events() { return engine_; }
    network& wires() { return *network_; }
    const machine_model& model() const { return model_; }

    // For any thread, while the ranks run.
    engine::turn turn_now() const { return engine_.turn_now(); }
    ticks seen_time() const { return engine_.seen_now(); }
    /// Whose handler runs; nobody's: `no_rank`.
    std::uint32_t seen_handler() const { return handling_rank_.load(std::memory_order_relaxed); }
    static constexpr std::uint32_t no_rank = UINT32_MAX;

    /// A number that ranks with that place in common share.
    std::uint32_t place_of(std::uint32_t rank, locality where);

private:
    void prepare(rank_state& rank, std::uint32_t number);
    /// Which ranks share memory, where a node is described.
    void share_memory(detail::rank_context& context);
    bool shares_memory(std::uint32_t left, std::uint32_t right) const;
    const processor_costs& processor_of(std::uint32_t rank) const {
        return rank == 0 && model_.master ? *model_.master : model_.processor;
    }
    node_memory& node_of(std::uint32_t rank) { return nodes_[rank / ranks_per_node_]; }
    std::uint32_t thread_of(std::uint32_t rank) const { return rank % ranks_per_node_; }
    void spend_access(rank_state& rank, const void* place, access_kind kind);
    std::uintptr_t line_place(const void* place) const;
    void put_locally(rank_state& rank, const detail::put_request& request);
    bool is_local(const rank_state& rank, std::uint64_t bits) const;
    /// One call of a rank, from the moment in which it leaves its own code to its return.
    class call {
    public:
        /// @param serves whether it looks after messages, as all do but a look at the clock.
        call(simulation& host, detail::rank_context& context, bool serves = true);
        ~call();
        call(const call&) = delete;
        call& operator=(const call&) = delete;
        rank_state& rank;

    private:
        simulation& host_;
        bool serves_;
    };
    /// Lets the rank's processor work.
    /// @param cure what to do if that is more time than there is.
    void spend(rank_state& rank, ticks work, std::string_view cure = "") {
        ticks& now = time_of(rank);
        now += stretched(rank, work);
        check_time(rank, now, cure);
    }
    /// A time that a rank's clock gets, unless it is later than time can be.
    void check_time(rank_state& rank, ticks at, std::string_view cure = "") {
        if (at >= latest_) [[unlikely]]  // what is beyond may have been cut down to it
            end_beyond_time(rank, cure);
    }
    [[noreturn]] void end_beyond_time(rank_state& rank, std::string_view cure);
    [[noreturn]] void end_beyond_time(const event& what, std::uint64_t cause);
    double latest_seconds() const;
    ticks deadline_of(const wait_request& request) const;
    bool is_in_deadlock() const;
    /// The clock of what a rank does now: its own, or its handler's.
    ticks& time_of(rank_state& rank) {
        return handler_ != nullptr ? handler_->now : rank.self->now;
    }
    /// Before the caller does what others could notice. A handler is an event: nothing is due
    /// before it.
    void catch_up() {
        if (handler_ == nullptr) engine_.catch_up();
    }
    rank_state& calling_rank() {
        return handler_ != nullptr ? handler_->rank : ranks_[engine_.current().number];
    }
    static ticks stretched(const rank_state& rank, ticks work) {
        return rank.slowness.of(static_cast<std::uint64_t>(work));
    }
    void poll(rank_state& rank);
    /// After an operation that took time a look at the clock is the first one again.
    void note_work(rank_state& rank, ticks begun) {
        if (time_of(rank) > begun) rank.polled_just_now = false;
    }
    /// What told the rank something is a look, too, if it took no time.
    void note_answer(rank_state& rank, ticks begun) {
        if (handler_ == nullptr && rank.self->now == begun) poll(rank);
    }
    void spend_poll(rank_state& rank);
    bool takes_time_unseen() const;
    bool may_lose_time_unseen() const;
    void note_host_time(rank_state& rank);
    void spend_host_time(rank_state& rank);
    std::uint64_t& own_committed_bytes();
    void kill(const run_setting::kill& whom);
    void cancel_kills();
    void begin_call(rank_state& rank);
    void end_call(rank_state& rank);
    void serve_inbox(rank_state& rank);
    void stand_still(rank_state& rank, standstill why);
    bool pays_for_rest(rank_state& rank, ticks begun);
    void come_to_rest(rank_state& rank);
    void go_on(rank_state& rank);
    void make_late_calls(rank_state& rank);
    void rest(rank_state& rank);
    bool obtain_credit(rank_state& origin, transfer& what);
    static bool queues_behind_others(rank_state& origin, transfer& what);
    void return_credit(rank_state& origin, std::uint32_t target);
    std::byte* address_of(std::uint64_t bits) const;

    transfer& make_transfer(rank_state& origin, transfer_kind what, std::uint64_t target,
                            std::uint64_t bytes);
    /// @param bytes of data, without what a message tells beside them
    static void note_sent(rank_state& origin, transfer_kind what, std::uint64_t bytes);
    void prepare(rank_state& origin, transfer& what, const operation_regime& regime,
                 message_class kind, std::uint64_t wire_bytes);
    void send(rank_state& origin, transfer& what, const operation_regime& regime,
              message_class kind, std::uint64_t wire_bytes);
    bool leaves_later(rank_state& origin, transfer& what);
    void leave_by_event(rank_state& origin, transfer& what);
    static ticks sent_ahead_until(const rank_state& origin, std::uint32_t target);
    void departs(transfer& what);
    void await_answer(rank_state& origin, transfer& what, ticks begun);
    void arrived(transfer& what);
    void receive_in_turn(transfer& what);
    void receive_now(transfer& what);
    void receive(transfer& what, ticks cost, event::action then);
    void be_worked_on(transfer& what);
    void notice(transfer& what);
    void set_alarm(rank_state& rank);
    void disturb(rank_state& rank);
    void interrupt(rank_state& rank);
    void serve_at(transfer& what, ticks at);
    void take_effect(transfer& what);
    // Messages and their handlers (messages.cpp).
    bool begin_handling(transfer& what);
    void defer(transfer& what);
    void run_handler(transfer& what);
    void end_handling(rank_state& rank, ticks begun, ticks ended);
    void reply(transfer& to, const message_request& request);
    static void pack(transfer& into, const message_request& request);
    void arrive_without_wires(transfer& what, ticks at);
    void answer_message(transfer& what);
    void raise(const transfer& what);
    void send_answer(transfer& what);
    bool acknowledge_unseen(transfer& what);
    void end_operation(rank_state& origin);
    void count(counter* which);
    transfer& send_get(rank_state& origin, const detail::get_request& request);
    transfer& send_atomic(rank_state& origin, const detail::atomic_request& request);
    void finish(transfer& what);
    // For records (message_trace.cpp).
    /// A message from the moment in which a rank begins to send it until that is done.
    class shown_send {
    public:
        /// @param is_alone whether it is the only one of its call.
        shown_send(simulation& host, rank_state& origin, transfer& what, bool is_alone = true)
            : host_(host) {
            if (host.records_messages_) [[unlikely]]
                begin(origin, what, is_alone);
        }
        ~shown_send() {
            if (origin_ != nullptr) [[unlikely]]
                end();
        }
        shown_send(const shown_send&) = delete;
        shown_send& operator=(const shown_send&) = delete;

    private:
        void begin(rank_state& origin, transfer& what, bool is_alone);
        void end() const;
        simulation& host_;
        rank_state* origin_ = nullptr;  ///< null: nothing is to be shown
        meters::occurrence what_{};
    };
    void note_arrival(transfer& what);
    void note_signal(const rank_state& rank, std::uint64_t signal) const;
    void note_wait(const rank_state& rank, const wait_request& request, ticks begun) const;
    void note_quiet(const rank_state& rank, ticks begun) const;
    meters::flow_id flow_of(std::uint64_t signal) const;

    void change_word(detail::shared_word& word, detail::signal_update update);
    void word_has_changed(detail::shared_word& word);

    /// A handler that runs, in an event, on whoever's stack.
    struct running_handler {
        rank_state& rank;
        transfer& message;
        ticks now;              ///< its clock
        ticks looked_at;        ///< when it looked at that last; -1: never
        std::int64_t left_ns;   ///< the host's time when it began or left a call, if counted
        message_request reply;  ///< if the message has one
        std::vector<std::byte> reply_arguments;
        std::vector<std::byte> reply_data;
    };

    struct kill_event : event {
        simulation* host = nullptr;
        run_setting::kill whom{};
    };

    machine_model model_;
    const ticks latest_ = model_.tick.latest();
    run_setting setting_;
    machine& owner_;
    rank_memory segments_;
    std::vector<rank_state> ranks_;
    engine engine_;
    std::unique_ptr<network> network_;
    network* const follower_ = network_->follows_ranks() ? network_.get() : nullptr;
    /// Messages may leave without the stack of the rank that sends them: no processor works for
    /// them or waits for anything.
    const bool leave_by_themselves_ = network_->frees_senders() && model_.reception.credits == 0 &&
                                      model_.reception.kind == reception_kind::hardware;
    perturbation perturbation_;
    /// Nobody works on the acknowledgement of a put, so only its time matters.
    const bool acknowledges_freely_ =
        leave_by_themselves_ && !perturbation_.is_on() && model_.receives_freely();
    bool has_handlers_ = false;  ///< some rank has sent a message
    const bool has_latency_ = model_.has_latency();
    /// When the last message of a pair is there, where messages need latency beyond the network's.
    std::unordered_map<std::uint64_t, ticks> there_at_;
    running_handler* handler_ = nullptr;
    std::atomic<std::uint32_t> handling_rank_ = no_rank;
    std::uintptr_t stack_mark_ = 0;  ///< where the stack of the job's caller ends
    void (*deliver_)(detail::rank_context&, incoming_message&) = nullptr;
    std::vector<kill_event> kills_;
    std::size_t returned_ = 0;  ///< ranks whose functions have
    int status_ = 0;            ///< of the job, so far
    std::vector<node_memory> nodes_;
    /// What a rank copies in shared memory without looking whether others come first: 5 us.
    const ticks longest_part_ = model_.tick.from_ps(5'000'000);
    std::uint32_t ranks_per_process_ = 1;
    std::uint32_t ranks_per_node_ = 1;
    transfer_pool transfers_;
    bool records_messages_ = false;
    std::uint64_t flows_ = 0;  ///< arrows of messages so far
    std::uint64_t no_sleepers_ = 0;
    std::uint64_t committed_bytes_ = 0;
    std::uint64_t limit_bytes_ = 0;
    /// Puts and gets of more bytes take their time and move nothing.
    const std::uint64_t most_moved_bytes_;
};

/// Puts and gets of so many bytes move their data always: flags, lengths and addresses stay right.
inline constexpr std::uint64_t least_payload_bytes = 64;

/// Says who waits for what, and ends the process.
[[noreturn]] void end_in_deadlock(const simulation& all);

}  // namespace selion::machine::sim
