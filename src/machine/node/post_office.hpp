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
class mail_room {
public:
    mail_room(post_office& office, std::uint32_t carrier, std::span<detail::rank_context> ranks);

    /// Whether a message waits, or one of a handler could not leave.
    bool has_mail() const {
        return has_message(area_.replies) || has_message(area_.requests) || !parked_.empty();
    }
    /// Delivers some of what has come, unless another thread is at it.
    /// @param server context of the thread that does it. @return whether anything was done.
    bool serve(detail::rank_context& server);
    /// The word that senders leave a mark on: see waiting.md.
    detail::shared_word& arrivals() { return area_.arrivals; }

private:
    friend class post_office;
    /// A message that a handler could not send.
    struct parked_message {
        message_request request;
        std::vector<std::byte> arguments;
        std::vector<std::byte> data;
    };

    bool serve_ring(detail::rank_context& server, message_ring& ring,
                    payload_pool mail_area::*pool);
    bool serve_replies(detail::rank_context& server);
    bool send_parked(detail::rank_context& server);
    void park(const message_request& request);
    void deliver(detail::rank_context& server, const message_slot& slot, std::byte* arguments);
    const std::byte* data_of(const message_slot& slot) const;

    post_office& office_;
    mail_area& area_;
    std::span<detail::rank_context> ranks_;
    payload_store requests_under_way_;
    payload_store replies_under_way_;
    std::deque<parked_message> parked_;
    std::atomic_flag is_served_;  ///< one thread at a time delivers
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
        return rooms_[carrier_of(context.rank) - first_carrier_];
    }
    mail_room& room(std::uint32_t local_carrier) { return rooms_[local_carrier]; }

private:
    friend class mail_room;
    std::uint32_t carrier_of(std::uint32_t rank) const {
        const std::uint32_t local = rank % shape_.ranks_per_process;
        return rank / shape_.ranks_per_process * shape_.carriers_per_process +
               ((local + 1) * shape_.carriers_per_process - 1) / shape_.ranks_per_process;
    }
    bool try_send(detail::rank_context& context, mail_room& own, const message_request& request);
    bool place_data(mail_room& own, const message_request& request, message_slot& slot);
    void send_waiting(detail::rank_context& context, mail_room& own,
                      const message_request& request);

    const shared_mapping& mapping_;
    node_shape shape_;
    std::uint32_t process_;
    std::uint32_t first_carrier_;
    std::deque<mail_room> rooms_;
    void (*deliver_)(detail::rank_context&, const incoming_message&) = nullptr;
};

}  // namespace selion::machine::node
