// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "machine/death_list.hpp"
#include "machine/fabric/batch.hpp"
#include "machine/fabric/brief_lock.hpp"
#include "machine/fabric/endpoint.hpp"
#include "machine/fabric/link.hpp"
#include "machine/fabric/operations.hpp"
#include "machine/fabric/wire.hpp"
#include "machine/machine.hpp"
#include "meters/record/network_events.hpp"
#include "selion/detail/word_access.hpp"

/// Frames out and in: what protocol.md tells.
namespace selion::machine::fabric {

/// Where a rank is reached.
struct peer_place {
    peer_address address;
    std::uint64_t key;  ///< of its memory; 0: it offers none
};

/// Bytes between own memory and a peer's heap.
struct long_transfer {
    std::uint32_t peer;
    std::uint64_t offset;  ///< in the peer's heap
    std::byte* own;
    std::size_t bytes;
    std::uint64_t key = 0;  ///< of a loan, in which the offset is then; 0: of the heap
};

/// What a port needs of its machine.
struct port_surroundings {
    endpoint& end;
    frame_bounds bounds;
    std::byte* memory;  ///< the own rank's heap
    /// Where a rank is that is spoken to for the first time.
    std::function<peer_place(std::uint32_t rank)> place_of;
    /// Ends the job because of what a rank or the way to it has done; `peer` may be none.
    std::function<void(std::uint32_t peer, const std::string& what)> end_job;
    /// Ranks that have died; null: a death ends the job.
    death_list* deaths = nullptr;
    /// The provider says that a peer, or the way to it, is gone, and the job shall live on.
    std::function<void(std::uint32_t peer, const std::string& why)> lose = {};
    /// The rank has sent itself a message. Empty: whoever waits looks.
    std::function<void()> own_message = {};
    /// A batch has been begun: `send_old_batches` is to be called at times, until it says that none
    /// is open. Empty: every frame leaves by itself.
    std::function<void()> batch_begun = {};
};

/// After which a provider that was busy is asked again, if nothing has happened.
inline constexpr std::int64_t retry_ns = 20'000;

/// Waits until all pieces are there, and closes the operation. @return what an atomic found
/// @error status::rank_dead: the peer has died meanwhile.
std::uint64_t await_operation(detail::rank_context& context, operation_table& table,
                              pending_operation& what);

/// Of the frame that a message begins with.
frame_head message_head(frame_kind kind, const message_request& request);

class port {
public:
    explicit port(const port_surroundings& around);

    /// Before the rank begins. @param function of the job, for messages.
    void open(detail::rank_context& own,
              void (*function)(detail::rank_context&, incoming_message&));

    /// Sends a frame, or has it sent later: outside of handlers it waits until it has left or is in
    /// a batch, in handlers it never waits. @param completion counts when the target has taken it.
    void post(detail::rank_context& context, std::uint32_t peer, const outgoing_frame& frame,
              counter* completion = nullptr);
    /// A small message to another rank in the usual case, where nothing waits that is to leave
    /// before it, and notes it. @return false: it is for `post_message`, and nothing has happened.
    bool post_at_once(const message_request& request);
    /// The same for a message to any rank, of any length.
    void post_message(detail::rank_context& context, const message_request& request);
    /// Adds a small put to a batch that is open, and notes it. @return false: there is none that it
    /// fits in, so nothing has happened.
    bool gather(std::uint32_t peer, const detail::put_request& request);
    /// Counts an operation that leaves the mapping.
    void note_sent(meters::sent_kind kind, std::size_t bytes);
    /// What has been noted; other threads may count meanwhile.
    const meters::sent_messages& sent() const { return sent_; }
    /// Whether the provider moves memory, for whom it is offered.
    bool has_moves() const { return around_.end.can_move(); }
    /// Whether the provider moves so many bytes to or from the peer by itself.
    bool can_move(std::uint32_t peer, std::size_t bytes);
    /// How many pieces a read has.
    static std::uint64_t moves_of(std::size_t bytes);
    /// Writes the peer's memory, and sends the frame after it: the signal and news of completion.
    /// Returns when the own bytes may be used again. @pre `can_move`
    void write(detail::rank_context& context, const long_transfer& what,
               const outgoing_frame& after, counter* completion);
    /// Begins to read the peer's memory, in `moves_of` pieces of the operation. @pre `can_move`
    void start_read(detail::rank_context& context, const long_transfer& what,
                    pending_operation& operation);
    /// `transport::lend` and `read_loan`, for and from a peer.
    std::optional<loan> lend(std::uint32_t peer, std::span<const std::byte> data);
    void read_loan(detail::rank_context& context, std::uint32_t peer, std::uint64_t key,
                   std::span<std::byte> to, counter& done);
    /// Waits until the peer, or every peer, has taken all that was sent to it.
    void quiet(detail::rank_context& context, std::uint32_t peer);
    void quiet(detail::rank_context& context);

    /// From now on nothing is wanted of others any more, and some may be gone.
    void begin_to_leave() { is_leaving_ = true; }
    /// Whether the provider has not told yet that all has left which was sent.
    bool is_sending();

    /// A peer is dead: settles what was under way to it, and drops what has come from it. By who
    /// serves. @return false: another thread does.
    bool bury(detail::rank_context& server, std::uint32_t peer);

    /// Peers that are not known to have taken all that was sent to them.
    std::vector<std::uint32_t> debtors();

    operation_table& operations() { return operations_; }

    /// Sends what waits to leave, and carries out what has come, unless another thread is at it.
    /// @return whether anything had come.
    bool serve(detail::rank_context& server);
    /// Sends the batches that were open at the call before. By one thread. @return whether one is
    /// open still.
    bool send_old_batches();
    /// Whether a thread serves now.
    bool is_served() const {
        // acquire: what the last one who served did [fabric.served]
        return serving_.test(std::memory_order_acquire);
    }
    /// Whether something has come, or waits to leave.
    bool has_mail();
    /// Whether a thread may sleep on the endpoint's file; and how long at most, because something
    /// waits that no file tells of.
    bool may_sleep();
    bool is_stuck() const { return is_stuck_.load(std::memory_order_relaxed); }
    int wait_file() const { return around_.end.wait_file(); }
    /// Frames of other jobs, or of nobody, that have come and were dropped.
    std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
    /// Batches that have been begun, and the frames that have joined one.
    std::uint64_t batches() const { return batches_.load(std::memory_order_relaxed); }
    std::uint64_t batched() const { return batched_.load(std::memory_order_relaxed); }
    /// Frames that wait for others which they have overtaken.
    std::uint64_t early() const { return early_count_.load(std::memory_order_relaxed); }
    /// Frames that the provider has delivered more than once.
    std::uint64_t repeated() const { return repeated_.load(std::memory_order_relaxed); }

private:
    bool send_old_batches(bool& needs_provider);
    /// A message of the rank to itself.
    struct own_message {
        std::uint16_t kind;
        std::uint64_t handler;
        std::vector<std::byte> arguments;
        std::vector<std::byte> data;
    };

    /// What a peer has to have taken.
    struct quiet_goal {
        std::uint32_t peer;
        std::uint32_t requests;
        std::uint32_t replies;
        bool with_reads;  ///< moves from the peer's memory have to be there too
        bool has_asked = false;
    };

    bool is_dead(std::uint32_t peer) const {
        return around_.deaths != nullptr && around_.deaths->is_dead(peer);
    }
    void lose_frame(detail::rank_context& context, std::uint32_t peer, const frame_head& head,
                    counter* completion);
    void expect_alive(detail::rank_context& context, std::uint32_t peer) const;
    void close_link(detail::rank_context& server, std::uint32_t peer, peer_link& link);
    void note_failure(detail::rank_context& server, const endpoint_event& event);
    /// @pre the lock is held.
    peer_link& link_to(std::uint32_t peer) {
        if (links_[peer] == nullptr) [[unlikely]]
            make_link(peer);
        return *links_[peer];
    }
    void make_link(std::uint32_t peer);
    bool try_post(std::uint32_t peer, peer_link& link, const outgoing_frame& frame,
                  counter* completion, bool may_wait);
    bool may_stay_behind(peer_link& link, frame_class which) const;
    bool try_gather(std::uint32_t peer, peer_link& link, const outgoing_frame& frame,
                    counter* completion, bool may_wait);
    bool try_send(std::uint32_t peer, peer_link& link, const outgoing_frame& frame,
                  const frame_needs& needs, std::span<counter* const> completions,
                  bool is_pushed = false);
    bool try_send_batch(std::uint32_t peer, peer_link& link, frame_class which,
                        bool is_pushed = false);
    bool try_send_waiting(std::uint32_t peer, peer_link& link, frame_class which,
                          bool is_pushed = false);
    bool push_requests(std::uint32_t peer, peer_link& link) {
        return try_send_waiting(peer, link, frame_class::request, true);
    }
    void drop_unsent(detail::rank_context& server, std::uint32_t peer, const outgoing_frame& frame,
                     std::span<counter* const> completions);
    void queue_batch(class_account& account, bool is_reply);
    bool post_or_queue(std::uint32_t peer, const outgoing_frame& frame, counter* completion);
    /// A small frame has left: those that follow before the next poll gather. @pre the lock is
    /// held.
    void gather_after(std::uint32_t peer, peer_link& link, class_account& account) {
        if (!around_.batch_begun) return;
        account.gathers = true;
        look_after(peer, link);
    }
    void post_parts(std::uint32_t peer, const message_request& request, std::size_t begun_bytes);
    bool may_lend(const message_request& request) const;
    bool post_lent(detail::rank_context& context, const message_request& request);
    lent_buffer* lend_data(detail::rank_context& context, const message_request& request);
    void take_back_lent(peer_link& link);
    void flush(std::uint32_t peer, peer_link& link);
    void send_account(std::uint32_t peer, peer_link& link);
    void look_after(std::uint32_t peer, peer_link& link);
    void look_after_listed();
    void note_refusal(std::uint32_t peer, const std::string& why);
    void check_trouble();
    template <class Attempt>
    void wait_to(detail::rank_context& context, Attempt attempt, std::int64_t until);
    static std::int64_t deadline_of_collective();
    [[noreturn]] static void throw_late(const detail::rank_context& context);
    void post_to_self(detail::rank_context& context, const message_request& request);
    static bool may_overtake(peer_link& link, bool is_read);
    void await_overtaken(detail::rank_context& context, std::uint32_t peer, bool is_read);
    void begin_move(detail::rank_context& context, memory_move move, const outgoing_frame* after,
                    counter* completion);
    void await_departure(detail::rank_context& context, std::uint32_t peer);
    void end_move(detail::rank_context& server, const endpoint_event& event);
    void add_goal(std::uint32_t peer, std::vector<quiet_goal>& goals);
    void ask_for_accounts(std::vector<quiet_goal>& goals);
    void await_goals(detail::rank_context& context, std::vector<quiet_goal>& goals,
                     std::int64_t until);

    bool serve_all(detail::rank_context& server);
    void receive(detail::rank_context& server, std::span<const std::byte> frame);
    void take(detail::rank_context& server, const frame_head& head,
              std::span<const std::byte> following);
    void take_early(detail::rank_context& server, peer_link& link, class_account& account) {
        if (!account.early.empty()) [[unlikely]]
            take_overtaken(server, link, account);
    }
    void take_overtaken(detail::rank_context& server, peer_link& link, class_account& account);
    void take_put(detail::rank_context& server, const frame_head& head,
                  std::span<const std::byte> data);
    void take_get(detail::rank_context& server, const frame_head& head);
    void take_atomic(const frame_head& head);
    void take_message(detail::rank_context& server, const frame_head& head,
                      std::span<const std::byte> following);
    void take_copy_of_message(detail::rank_context& server, const frame_head& head,
                              std::span<const std::byte> following);
    static void begin_message(class_account& account, const frame_head& head,
                              std::span<const std::byte> following);
    void take_part(detail::rank_context& server, const frame_head& head,
                   std::span<const std::byte> following);
    void take_lent(const frame_head& head, std::span<const std::byte> following);
    void begin_pull(std::uint32_t peer, peer_link& link, class_account& account);
    void end_pull(detail::rank_context& server, message_pull& pull, bool has_failed);
    void forget_pull(class_account& account);
    void take_batch(detail::rank_context& server, const frame_head& head,
                    std::span<const std::byte> following);
    /// Whether something is settled once the peer has taken it.
    bool has_given(const peer_link& link) const {
        return !link.completions.empty() || lent_.are_lent();
    }
    void count_completions(detail::rank_context& server, peer_link& link);
    void note_taken(detail::rank_context& server, peer_link& link, const frame_head& head) {
        const std::lock_guard lock(mutex_);
        count_taken(server, link, head);
    }
    void count_taken(detail::rank_context& server, peer_link& link, const frame_head& head);
    void raise(detail::rank_context& server, std::uint64_t signal, detail::signal_update update);
    bool serve_own_messages(detail::rank_context& server);
    void deliver(detail::rank_context& server, incoming_message&& message);
    void reply(const frame_head& request, const outgoing_frame& frame);

    void note(meters::sent_kind kind, std::size_t bytes);

    /// Of the calling thread, whose context may be a copy of the rank's.
    static bool is_in_handler() { return detail::current_context->own.in_handler; }

    port_surroundings around_;
    detail::rank_context* own_ = nullptr;
    void (*deliver_)(detail::rank_context&, incoming_message&) = nullptr;
    operation_table operations_;
    bool is_leaving_ = false;

    brief_lock mutex_;  ///< of what follows, and of every send
    std::vector<std::unique_ptr<peer_link>> links_;
    std::vector<std::uint32_t> known_;   ///< peers that have a link
    std::vector<std::uint32_t> listed_;  ///< peers that the next poll looks after
    std::vector<std::unique_ptr<batch_room>> spare_rooms_;
    lent_buffers lent_;             ///< to others
    lent_buffers landings_;         ///< of what others have lent
    std::uint32_t batch_time_ = 0;  ///< calls of `send_old_batches`
    meters::sent_messages sent_;    // others read it, too
    std::deque<own_message> own_messages_;
    std::string trouble_;  ///< of the provider
    std::uint32_t trouble_with_ = no_peer;
    std::atomic<bool> has_trouble_ = false;  ///< changed with the lock held

    detail::shared_word news_{};          ///< grows when something can go on that has had to wait
    std::atomic<bool> is_stuck_ = false;  ///< the provider has refused to send: to be tried again
    std::atomic<std::size_t> own_count_ = 0;
    std::atomic<std::size_t> waiting_count_ = 0;  ///< listed peers
    std::atomic<std::uint64_t> dropped_ = 0;
    std::atomic<std::uint64_t> repeated_ = 0;
    std::atomic<std::uint64_t> early_count_ = 0;
    std::atomic<std::uint64_t> batches_ = 0;  // these are counted with the lock held
    std::atomic<std::uint64_t> batched_ = 0;
    std::atomic_flag serving_;  ///< one thread at a time
};

/// Serves until the attempt, made with the lock held, succeeds. An attempt that fails has done
/// nothing.
/// @param until of the collective in progress: then it ends in an error.
template <class Attempt>
void port::wait_to(detail::rank_context& context, Attempt attempt, std::int64_t until) {
    while (true) {
        const std::uint64_t seen = detail::word_load(news_);
        bool is_to_be_tried_again = false;
        {
            const std::lock_guard lock(mutex_);
            if (attempt()) return;
            is_to_be_tried_again = is_stuck();
        }
        check_trouble();
        if (until != no_deadline && context.clock->now_ns() >= until) throw_late(context);
        const std::int64_t again_ns =
            is_to_be_tried_again ? context.clock->now_ns() + retry_ns : no_deadline;
        const std::int64_t deadline_ns = std::min(again_ns, until);
        context.clock->wait(context, {.word = news_,
                                      .at_least = seen + 1,
                                      .reason = wait_reason::message,
                                      .deadline_ns = deadline_ns});
    }
}

}  // namespace selion::machine::fabric
