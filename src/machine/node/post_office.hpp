// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "machine/machine.hpp"
#include "machine/node/mail_access.hpp"
#include "machine/node/mail_area.hpp"
#include "machine/node/payload_store.hpp"
#include "machine/node/shared_mapping.hpp"

/// Messages between ranks of one host. The protocol and the reasons are in messages.md.
namespace selion::machine::node {

class post_office;

/// One carrier's mail: what has come for its ranks, and what they have under way.
class alignas(detail::line_bytes) mail_room {
public:
    mail_room(post_office& office, std::uint32_t carrier, std::span<detail::rank_context> ranks);

    /// Whether a message waits, or one of a handler could not leave.
    bool has_mail() const {
        return has_message(area_.replies) || has_message(area_.requests) || has_parked();
    }
    /// Delivers some of what has come, unless another thread is at it.
    /// @param server context of the thread that does it. @return whether anything was done.
    bool serve(detail::rank_context& server);
    /// A thread that waits comes in, and serves until it leaves: the notifier need not be woken.
    bool has_notifier() const { return notifier_ != 0; }
    void attend();
    void leave(detail::rank_context& server);
    bool is_attended() const { return attendants_.load(std::memory_order_relaxed) != 0; }
    /// Where threads sleep until something comes, if nobody attends.
    void set_notifier(std::uint32_t bell_number) { notifier_ = bell_number + 1; }
    /// The word that senders leave a mark on: see waiting.md.
    detail::shared_word& arrivals() { return area_.arrivals; }

private:
    friend class post_office;
    class room_access;
    bool has_parked() const { return parked_count_.load(std::memory_order_relaxed) != 0; }
    /// A message that a handler could not send.
    struct parked_message {
        message_request request;
        std::vector<std::byte> arguments;
        std::vector<std::byte> data;
    };

    bool serve_ring(detail::rank_context& server, message_ring& ring,
                    payload_pool mail_area::*pool);
    bool may_serve();
    bool serve_all(detail::rank_context& server);
    bool serve_replies(detail::rank_context& server);
    bool send_parked(detail::rank_context& server);
    void park(const message_request& request);
    void deliver(detail::rank_context& server, const message_slot& slot, std::byte* arguments);
    void deliver_as_guest(detail::rank_context& server, const incoming_message& message,
                          const detail::rank_context& target);
    const std::byte* data_of(const message_slot& slot) const;

    post_office& office_;
    mail_area& area_;
    std::span<detail::rank_context> ranks_;
    bool has_one_server_;  ///< only the carrier's own thread ever serves
    payload_store requests_under_way_;
    payload_store replies_under_way_;
    std::atomic<std::size_t> parked_count_ = 0;
    std::deque<parked_message> parked_;
    std::atomic<bool> have_all_begun_ = false;  ///< every rank can handle messages
    std::uint32_t notifier_ = 0;                ///< number of its doorbell + 1; 0: there is none
    std::atomic<std::uint32_t> attendants_ = 0;
    std::atomic_flag is_served_;  ///< where there are several, one at a time serves
};

/// The mail of one process: its own carriers' rooms, and the ways to all others.
class post_office {
public:
    /// @param first_carrier of this process. @param first_rank of each of its carriers, and one
    /// more: local numbers.
    post_office(const shared_mapping& mapping, const node_shape& shape, std::uint32_t process);
    /// @param ranks of the process. Call once, before anything is sent.
    void open(std::span<detail::rank_context> ranks, std::span<const std::uint32_t> first_rank,
              void (*deliver)(detail::rank_context&, const incoming_message&));

    void send(detail::rank_context& context, const message_request& request);
    bool can_lend(std::uint32_t target, const void* data, std::size_t bytes) const;
    std::uint64_t most_message_bytes() const;
    bool poll(detail::rank_context& context) { return room_of(context).serve(context); }
    mail_room& room_of(const detail::rank_context& context) {
        return *room_of_rank_[context.rank - first_rank_];
    }
    mail_room& room(std::uint32_t local_carrier) { return rooms_[local_carrier]; }
    std::deque<mail_room>& rooms() { return rooms_; }

private:
    friend class mail_room;
    mail_area& area_of(std::uint32_t rank) const { return *area_of_rank_[rank]; }
    bool try_send(detail::rank_context& context, mail_room& own, const message_request& request);
    bool place_data(mail_room& own, const message_request& request, message_slot& slot);
    void send_waiting(detail::rank_context& context, mail_room& own,
                      const message_request& request);

    const shared_mapping& mapping_;
    node_shape shape_;
    std::uint32_t process_;
    std::uint32_t first_carrier_;
    /// What a rank has under way to one carrier, in lines of its own. Several threads of a rank may
    /// send at a time; then it is right but for a message or two.
    struct alignas(detail::line_bytes) share {
        std::vector<std::uint64_t> tickets;  ///< of its last messages, plus 1
        std::uint64_t sent = 0;

        /// Their number is a power of two.
        std::uint64_t& oldest() { return tickets[look(sent) & (tickets.size() - 1)]; }
        static std::uint64_t look(const std::uint64_t& of) {
            return std::atomic_ref(const_cast<std::uint64_t&>(of)).load(std::memory_order_relaxed);
        }
        void note(std::uint64_t ticket) {
            std::atomic_ref(oldest()).store(ticket + 1, std::memory_order_relaxed);
            std::atomic_ref(sent).store(look(sent) + 1, std::memory_order_relaxed);
        }
    };
    share& share_of(std::uint32_t rank, std::uint32_t target);
    static bool has_share(share& own, message_ring& ring);

    std::vector<std::uint32_t> carrier_of_rank_;  ///< of all ranks of the job
    std::vector<share> shares_;                   ///< of each rank of the process at each carrier
    std::size_t share_messages_ = 0;
    std::vector<mail_area*> area_of_rank_;  ///< of all ranks of the job
    std::vector<mail_room*> room_of_rank_;  ///< of those of the process
    std::uint32_t first_rank_ = 0;
    std::deque<mail_room> rooms_;
    void (*deliver_)(detail::rank_context&, const incoming_message&) = nullptr;
};

}  // namespace selion::machine::node
