// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "machine/machine.hpp"
#include "machine/node/mail_access.hpp"
#include "machine/node/mail_area.hpp"
#include "machine/node/payload_store.hpp"
#include "machine/node/row_way.hpp"

namespace selion::machine::node {

class post_office;

/// One carrier's mail: what has come for its ranks, and what they have under way.
class alignas(detail::line_bytes) mail_room {
public:
    mail_room(post_office& office, std::uint32_t carrier, std::span<detail::rank_context> ranks);

    /// Whether messages of handlers could not leave yet.
    bool has_parked() const { return parked_count_.load(std::memory_order_relaxed) != 0; }
    /// Whether a message waits, or one of a handler could not leave.
    bool has_mail() const { return std::ranges::any_of(readers_, has_message) || has_parked(); }
    /// Whether a thread serves it now, where there are several.
    bool is_served() const {
        // acquire: what the last one who served did [room.served]
        return is_served_.test(std::memory_order_acquire);
    }
    /// Whether anything is there that has not been handled to its end.
    bool is_busy() const { return is_served() || has_mail(); }
    /// Delivers some of what has come, unless another thread is at it.
    /// @param server context of the thread that does it. @return whether anything was done.
    bool serve(detail::rank_context& server) {
        if (!has_one_server_) return serve_as_one_of_several(server);
        return serve_all(server);
    }
    /// The same where a sign has come. @pre nobody else ever serves.
    bool serve_found(detail::rank_context& server, mail_sign& found);
    /// A thread that waits comes in, and serves until it leaves: the notifier need not be woken.
    bool has_notifier() const { return notifier_ != 0; }
    void attend();
    /// @param bell_number of the thread that leaves.
    void leave(detail::rank_context& server, std::uint32_t bell_number);
    bool is_attended() const { return attendants_.load(std::memory_order_relaxed) != 0; }
    /// Where threads sleep until something comes, if nobody attends.
    void set_notifier(std::uint32_t bell_number) { notifier_ = bell_number + 1; }
    /// The word that senders leave a mark on: see waiting.md.
    detail::shared_word& arrivals() { return box_.area->arrivals; }

private:
    friend class post_office;
    class room_access;
    class service;
    /// A message that a handler could not send.
    struct parked_message {
        detail::rank_context* sender;  ///< the rank's own, of this room
        message_request request;
        std::vector<std::byte> arguments;
        std::vector<std::byte> data;
    };

    /// A look that mostly finds nothing.
    bool serve_all(detail::rank_context& server) {
        for (mail_sign& sign : signs_) {
            if (sign.has_come()) return may_serve() && serve_found(server, sign);
        }
        return has_parked() && send_parked();
    }
    bool serve_rings(detail::rank_context& server, std::size_t first, std::size_t end);
    bool serve_as_one_of_several(detail::rank_context& server);
    void serve_ring(detail::rank_context& server, mail_sign& sign);
    void serve_more(detail::rank_context& server, ring_reader& reader, mail_sign& sign);
    void serve_row(detail::rank_context& server, ring_reader& reader, mail_sign& sign);
    /// @param is_own the thread that serves is that of the room's only rank, and marked.
    template <bool is_own>
    void serve_next(detail::rank_context& server, ring_reader& reader, mail_sign& sign);
    void serve_long(detail::rank_context& server, ring_reader& reader, mail_sign& sign,
                    bool is_own);
    void tell_consumed(detail::rank_context& server, const ring_reader& reader);
    static void step_past(detail::rank_context& server, ring_reader& reader, mail_sign& sign,
                          bool next_in_row);
    static void learn_counts(const message_way& way, const std::byte* told);
    void add_rest(const ring_reader& reader, const mail_sign& sign, std::byte* arguments,
                  incoming_message& message) const;
    void give_back(detail::rank_context& server, const ring_reader& reader, std::uint32_t origin,
                   const std::byte* data);
    std::size_t lanes() const { return readers_.size() / 2; }
    void open_short_cuts();
    bool may_serve();
    bool serve_replies_while_sending(detail::rank_context& server);
    bool must_park_reply() const;
    bool send_parked();
    bool send_parked(std::deque<parked_message>& queue);
    void park(const detail::rank_context& sender, const message_request& request);
    void deliver(detail::rank_context& server, std::uint32_t rank, incoming_message& message);
    void deliver_as_guest(detail::rank_context& server, incoming_message& message,
                          const detail::rank_context& target);
    const std::byte* data_of(const message_rest& rest, data_place place) const;

    post_office& office_;
    mailbox box_;
    /// Of all its rings, those of replies first. Not in a piece of memory of their own: that could
    /// share a line with another carrier's.
    std::array<ring_reader, std::size_t{2} * most_single_senders> all_readers_;
    std::array<mail_sign, std::size_t{2} * most_single_senders> all_signs_;
    std::span<ring_reader> readers_;
    std::span<mail_sign> signs_;                         ///< of each reader
    std::array<row_way, most_single_senders> row_ways_;  ///< to each rank, where rows are used
    std::vector<message_way> ways_;                      ///< likewise where not
    std::span<detail::rank_context> ranks_;
    std::uint32_t first_rank_;
    bool has_one_server_;  ///< only the carrier's own thread ever serves
    payload_store requests_under_way_;
    payload_store replies_under_way_;
    std::atomic<std::size_t> parked_count_ = 0;
    std::mutex parking_;  ///< of what follows: handlers' messages come from several threads
    std::deque<parked_message> parked_requests_;
    std::deque<parked_message> parked_replies_;  ///< no request stands before them
    std::atomic<bool> have_all_begun_ = false;   ///< every rank can handle messages
    std::uint32_t notifier_ = 0;                 ///< number of its doorbell + 1; 0: there is none
    std::atomic<std::uint32_t> attendants_ = 0;
    std::atomic_flag is_served_;  ///< where there are several, one at a time serves
    bool sends_reply_ = false;    ///< whoever serves serves replies to get one away
};

}  // namespace selion::machine::node
