// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "machine/host/untouched_array.hpp"
#include "machine/machine.hpp"
#include "machine/node/mail_room.hpp"
#include "machine/node/shared_mapping.hpp"

/// Messages between ranks of one host. The protocol and the reasons are in messages.md.
namespace selion::machine::node {

/// The mail of one process: its own carriers' rooms, and the ways to all others.
class post_office {
public:
    /// @param process index of the own one. @param ranks_before ranks of the job in front of those
    /// of the mapping.
    post_office(const shared_mapping& mapping, const node_shape& shape, std::uint32_t process,
                std::uint32_t ranks_before = 0);
    /// @param is_only_way ranks map each other's memory, and nothing comes to them in another way.
    /// @param ranks of the process. @param first_rank of each of its carriers, and one more: local
    /// numbers. Call once, before anything is sent.
    void open(std::span<detail::rank_context> ranks, std::span<const std::uint32_t> first_rank,
              void (*deliver)(detail::rank_context&, incoming_message&), bool is_only_way);

    void send(detail::rank_context& context, const message_request& request);
    void send_plain(detail::rank_context& context, std::uint32_t target, std::uint64_t handler,
                    const std::byte* arguments, std::size_t bytes);
    /// @return null: there is none, or something else goes first.
    row_way* row_way_to(detail::rank_context& context, std::uint32_t target) const {
        mail_room& own = room_of(context);
        if (!uses_rows_ || own.has_parked()) return nullptr;
        return &own.row_ways_[target - ranks_before_];
    }
    bool can_lend(std::uint32_t target, const void* data, std::size_t bytes) const;
    std::uint64_t most_message_bytes() const;
    /// A rank of the mapping is dead: what it was to read is free again.
    void give_up(detail::rank_context& server, std::uint32_t dead);
    bool poll(detail::rank_context& context) { return room_of(context).serve(context); }
    static mail_room& room_of(const detail::rank_context& context) { return *context.room; }
    mail_room& room(std::uint32_t local_carrier) { return rooms_[local_carrier]; }
    std::deque<mail_room>& rooms() { return rooms_; }

private:
    friend class mail_room;
    message_slot* next_slot(const mail_room& own, message_ring& ring, drawn_ticket& drawn) const;
    void send_accounted(detail::rank_context& context, std::uint32_t target, std::uint64_t handler,
                        const std::byte* arguments, std::size_t bytes);
    const mailbox& box_of(std::uint32_t rank) const { return boxes_[carrier_of(rank)]; }
    std::uint32_t carrier_of(std::uint32_t rank) const {
        return carrier_of_rank_[rank - ranks_before_];
    }
    message_way& way_to(mail_room& own, std::uint32_t target) const {
        const std::uint32_t index = target - ranks_before_;
        return uses_rows_ ? own.row_ways_[index] : own.ways_[index];
    }
    std::vector<message_way> ways_from(std::uint32_t carrier) const;
    bool try_send(detail::rank_context& context, mail_room& own, const message_request& request);
    /// Where a message's data lie until its target has seen them.
    struct data_position {
        data_place place = data_place::nowhere;
        std::uint64_t start = 0;  ///< see `place`
        std::uint64_t bytes = 0;
    };
    bool place_data(mail_room& own, const message_request& request, data_position& where);
    static bool is_late(detail::rank_context& context, std::int64_t deadline_ns);
    static void call_to_mail(detail::rank_context& context, std::uint32_t target);
    [[noreturn]] static void throw_late(const detail::rank_context& context,
                                        const message_request& request);
    static void send_parked_first(detail::rank_context& context, const mail_room& own,
                                  const message_request& request);
    void send_waiting(detail::rank_context& context, mail_room& own,
                      const message_request& request);

    const shared_mapping& mapping_;
    node_shape shape_;
    std::uint32_t process_;
    std::uint32_t ranks_before_;
    std::uint32_t first_carrier_;
    /// What a rank has under way to one carrier, in lines of its own. Several threads of a rank may
    /// send at a time; then it is right but for a message or two.
    struct alignas(detail::line_bytes) share {
        std::uint64_t* tickets;  ///< of its last messages, plus 1; null: it has sent none
        std::uint64_t last;      ///< of their places; their number is a power of two
        std::uint64_t sent;

        std::uint64_t& oldest() { return tickets[look(sent) & last]; }
        static std::uint64_t look(const std::uint64_t& of) {
            return std::atomic_ref(const_cast<std::uint64_t&>(of)).load(std::memory_order_relaxed);
        }
        void note(std::uint64_t ticket) {
            std::atomic_ref(oldest()).store(ticket + 1, std::memory_order_relaxed);
            std::atomic_ref(sent).store(look(sent) + 1, std::memory_order_relaxed);
        }
    };
    share& share_of(std::uint32_t rank, std::uint32_t target);
    void begin(share& own);
    static bool has_share(share& own, message_ring& ring);

    std::vector<std::uint32_t> carrier_of_rank_;  ///< of all ranks of the mapping
    /// Of each rank of the process at each carrier: of many ranks most have nothing for most.
    untouched_array<share> shares_;
    std::mutex of_share_tickets_;
    std::deque<std::unique_ptr<std::uint64_t[]>> share_tickets_;  ///< all of them
    std::size_t share_messages_ = 0;
    bool has_shares_ = false;          ///< several ranks share a ring
    bool has_single_senders_ = false;  ///< each ring has messages of one thread
    bool uses_rows_ = false;           ///< and that one is no carrier of several ranks
    bool has_short_cuts_ = false;      ///< and ranks themselves may see and send messages
    std::vector<mailbox> boxes_;       ///< of all carriers of the mapping
    std::uint32_t first_rank_ = 0;
    std::deque<mail_room> rooms_;
    void (*deliver_)(detail::rank_context&, incoming_message&) = nullptr;
};

}  // namespace selion::machine::node
