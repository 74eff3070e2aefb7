// SPDX-License-Identifier: Apache-2.0
#include "machine/node/post_office.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "machine/call_record.hpp"
#include "machine/node/attendance.hpp"
#include "machine/node/doorbell.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::node {
namespace {

/// Messages that one call of `serve` delivers at most from each ring, so that a call that waits for
/// something looks whether it has come.
constexpr int most_served = 64;
/// Messages after which senders are told that there is room again.
constexpr std::uint64_t told_after = ring_slots / 8;
/// Messages that a rank may have under way to one carrier at least. Half a ring is shared out, so
/// that a rank which is quicker than others does not keep them from it.
constexpr std::uint64_t least_share = 4;

/// Whether only a carrier's own thread ever sends and serves for its ranks.
bool has_one_server(const control_block& control) {
    const auto level = static_cast<selion::thread_level>(control.thread_level);
    return level == selion::thread_level::single && control.has_notifier == 0;
}

/// Few bytes, mostly whole words: not worth a call of memcpy.
void copy_arguments(std::byte* to, const std::byte* from, std::size_t bytes) {
    constexpr std::size_t word = sizeof(std::uint64_t);
    std::size_t done = 0;
    for (; done + word <= bytes; done += word) std::memcpy(to + done, from + done, word);
    for (; done < bytes; ++done) to[done] = from[done];
}

}  // namespace

mail_room::mail_room(post_office& office, std::uint32_t carrier,
                     std::span<detail::rank_context> ranks)
    : office_(office),
      area_(office.mapping_.mail(carrier)),
      ranks_(ranks),
      has_one_server_(has_one_server(office.mapping_.control())),
      requests_under_way_(area_.request_pool, reinterpret_cast<std::byte*>(&area_ + 1),
                          office.mapping_.control().pool_bytes),
      replies_under_way_(
          area_.reply_pool,
          reinterpret_cast<std::byte*>(&area_ + 1) + office.mapping_.control().pool_bytes,
          office.mapping_.control().pool_bytes) {}

/// Handlers may use what a rank makes when it begins.
bool mail_room::may_serve() {
    if (have_all_begun_.load(std::memory_order_relaxed)) return true;
    const bool have_begun = std::ranges::all_of(ranks_, [](const detail::rank_context& rank) {
        // acquire: what it has made [rank.begun]
        return std::atomic_ref(rank.call->has_begun).load(std::memory_order_acquire) != 0;
    });
    have_all_begun_.store(have_begun, std::memory_order_relaxed);
    return have_begun;
}

bool mail_room::serve(detail::rank_context& server) {
    if (!has_mail() || !may_serve()) return false;
    if (has_one_server_) return serve_all(server);
    // acquire and release: what the last one who served did is done [room.served]
    if (is_served_.test_and_set(std::memory_order_acquire)) return false;
    const bool has_served = serve_all(server);
    is_served_.clear(std::memory_order_release);  // [room.served]
    return has_served;
}

bool mail_room::serve_all(detail::rank_context& server) {
    const bool has_replies = serve_replies(server);
    const bool has_requests = serve_ring(server, area_.requests, &mail_area::request_pool);
    return send_parked(server) || has_replies || has_requests;
}

/// The atomics of `attendance` on real memory.
class mail_room::room_access : public host_access {
public:
    using host_access::host_access;
    /// @return whether nobody attends after one has left.
    static bool change_attendants(mail_room& room, int by) {
        return by > 0 ? room.attendants_.fetch_add(1, std::memory_order_relaxed) == 0
                      : room.attendants_.fetch_sub(1, std::memory_order_relaxed) == 1;
    }
    static detail::shared_word& arrivals_of(mail_room& room) { return room.area_.arrivals; }
};

void mail_room::attend() {
    room_access access(office_.mapping_.control(), office_.mapping_.is_shared(), no_deadline);
    attendance::attend(access, *this);
}

void mail_room::leave(detail::rank_context& server) {
    room_access access(office_.mapping_.control(), office_.mapping_.is_shared(), no_deadline);
    if (!attendance::leave(access, *this, notifier_)) return;
    while (serve(server)) {
    }
}

bool mail_room::serve_replies(detail::rank_context& server) {
    return serve_ring(server, area_.replies, &mail_area::reply_pool);
}

/// A message's slot is free for senders as soon as its arguments have been copied; so a handler
/// that waits for room may serve replies meanwhile.
bool mail_room::serve_ring(detail::rank_context& server, message_ring& ring,
                           payload_pool mail_area::*pool) {
    int served = 0;
    while (served < most_served && has_message(ring)) {
        const std::uint64_t ticket = ring_access::head(ring);
        message_slot slot;
        const message_slot& there = ring.slots[ticket % ring_slots];
        __builtin_prefetch(&ring.slots[(ticket + 2) % ring_slots]);
        std::memcpy(&slot, &there, offsetof(message_slot, arguments));
        alignas(16) std::byte arguments[most_argument_bytes];
        copy_arguments(arguments, there.arguments, slot.argument_bytes);
        slot.data_bytes = 0;
        if (slot.place != data_place::nowhere) {
            slot.data = there.data;
            slot.data_bytes = there.data_bytes;
        }
        ring_access::set_head(ring, ticket + 1);
        if ((ticket + 1) % told_after == 0) {
            detail::word_store(server, ring.consumed, ticket + 1);
        }
        deliver(server, slot, arguments);
        if (slot.place == data_place::pool) {
            give_back_payload(server, office_.area_of(slot.origin).*pool, data_of(slot));
        }
        ++served;
    }
    if (served == 0) return false;
    const std::uint64_t head = ring_access::head(ring);
    if (ring_access::consumed(ring) != head) detail::word_store(server, ring.consumed, head);
    return true;
}

const std::byte* mail_room::data_of(const message_slot& slot) const {
    switch (slot.place) {
        case data_place::nowhere: return nullptr;
        case data_place::process: return reinterpret_cast<const std::byte*>(slot.data);
        case data_place::pool:
        case data_place::mapping: break;
    }
    return office_.mapping_.start() + slot.data;
}

void mail_room::deliver(detail::rank_context& server, const message_slot& slot,
                        std::byte* arguments) {
    const incoming_message message{.origin = slot.origin,
                                   .kind = slot.kind,
                                   .handler = slot.handler,
                                   .arguments = {arguments, slot.argument_bytes},
                                   .data = data_of(slot),
                                   .bytes = slot.data_bytes};
    detail::rank_context& target = ranks_[slot.target - ranks_.front().rank];
    if (server.is_foreign_thread) [[unlikely]]
        return deliver_as_guest(server, message, target);
    auto* const plain_team = std::exchange(target.plain_team, nullptr);
    const bool counts_alone = std::exchange(target.counts_alone, false);
    const bool was_in_handler = std::exchange(target.in_handler, true);
    detail::rank_context* const outer = std::exchange(detail::current_context, &target);
    office_.deliver_(target, message);
    detail::current_context = outer;
    target.in_handler = was_in_handler;
    target.counts_alone = counts_alone;
    target.plain_team = plain_team;
}

/// On a thread that has joined a rank: the rank's own may be using the rank's context.
void mail_room::deliver_as_guest(detail::rank_context& server, const incoming_message& message,
                                 const detail::rank_context& target) {
    detail::rank_context copy = target;
    copy.waiter = server.waiter;
    copy.is_foreign_thread = true;
    copy.recorder = nullptr;
    copy.plain_team = nullptr;
    copy.counts_alone = false;
    copy.in_handler = true;
    detail::rank_context* const outer = std::exchange(detail::current_context, &copy);
    office_.deliver_(copy, message);
    detail::current_context = outer;
}

void mail_room::park(const message_request& request) {
    const auto* data = static_cast<const std::byte*>(request.data);
    parked_count_.fetch_add(1, std::memory_order_relaxed);
    parked_message& kept = parked_.emplace_back();
    kept.arguments.assign(request.arguments.begin(), request.arguments.end());
    if (!request.lends_data) kept.data.assign(data, data + request.bytes);
    kept.request = request;
    kept.request.arguments = kept.arguments;
    if (!request.lends_data) kept.request.data = kept.data.data();
}

bool mail_room::send_parked(detail::rank_context& server) {
    bool has_sent = false;
    while (has_parked() && office_.try_send(server, *this, parked_.front().request)) {
        parked_.pop_front();
        parked_count_.fetch_sub(1, std::memory_order_relaxed);
        has_sent = true;
    }
    return has_sent;
}

post_office::post_office(const shared_mapping& mapping, const node_shape& shape,
                         std::uint32_t process)
    : mapping_(mapping),
      shape_(shape),
      process_(process),
      first_carrier_(process * shape.carriers_per_process) {}

void post_office::open(std::span<detail::rank_context> ranks,
                       std::span<const std::uint32_t> first_rank,
                       void (*deliver)(detail::rank_context&, const incoming_message&)) {
    deliver_ = deliver;
    first_rank_ = ranks.front().rank;
    for (std::uint32_t rank = 0; rank < mapping_.control().ranks; ++rank) {
        const std::uint32_t carrier = shape_.carrier_of(rank);
        area_of_rank_.push_back(&mapping_.mail(carrier));
        carrier_of_rank_.push_back(carrier);
    }
    const std::uint64_t senders = std::max(mapping_.control().ranks, 2u) - 1;
    share_messages_ = std::bit_floor(std::max(ring_slots / 2 / senders, least_share));
    shares_.resize(ranks.size() * shape_.carriers());
    if (!has_one_server(mapping_.control())) {
        for (share& one : shares_) one.tickets.resize(share_messages_);
    }
    for (std::uint32_t c = 0; c < shape_.carriers_per_process; ++c) {
        rooms_.emplace_back(*this, first_carrier_ + c,
                            ranks.subspan(first_rank[c], first_rank[c + 1] - first_rank[c]));
        room_of_rank_.resize(first_rank[c + 1], &rooms_.back());
    }
}

bool post_office::can_lend(std::uint32_t target, const void* data, std::size_t bytes) const {
    if (target / shape_.ranks_per_process == process_) return true;
    const auto* start = static_cast<const std::byte*>(data);
    const std::byte* const end = mapping_.start() + mapping_.control().total_bytes;
    return start >= mapping_.start() && start <= end &&
           bytes <= static_cast<std::size_t>(end - start);
}

std::uint64_t post_office::most_message_bytes() const {
    return mapping_.control().pool_bytes - 2 * sizeof(payload_header);
}

/// @return false when there is no place for the data now.
bool post_office::place_data(mail_room& own, const message_request& request, message_slot& slot) {
    slot.data_bytes = request.bytes;
    slot.place = data_place::nowhere;
    if (request.bytes == 0) return true;
    if (request.lends_data) {
        const auto* data = static_cast<const std::byte*>(request.data);
        const bool is_mapped =
            data >= mapping_.start() && data < mapping_.start() + mapping_.control().total_bytes;
        slot.place = is_mapped ? data_place::mapping : data_place::process;
        slot.data = is_mapped ? static_cast<std::uint64_t>(data - mapping_.start())
                              : reinterpret_cast<std::uint64_t>(data);
        return true;
    }
    payload_store& store = request.is_reply ? own.replies_under_way_ : own.requests_under_way_;
    std::byte* const place = store.take(request.bytes);
    if (place == nullptr) return false;
    std::memcpy(place, request.data, request.bytes);
    slot.place = data_place::pool;
    slot.data = static_cast<std::uint64_t>(place - mapping_.start());
    return true;
}

post_office::share& post_office::share_of(std::uint32_t rank, std::uint32_t target) {
    share& own = shares_[(rank - first_rank_) * shape_.carriers() + carrier_of_rank_[target]];
    if (own.tickets.empty()) own.tickets.resize(share_messages_);
    return own;
}

/// Whether the oldest of a rank's last messages to a carrier has been taken.
bool post_office::has_share(share& own, message_ring& ring) {
    const std::uint64_t oldest = share::look(own.oldest());
    if (oldest <= ring_access::known_consumed(ring)) return true;
    const std::uint64_t consumed = ring_access::consumed(ring);
    ring_access::set_known_consumed(ring, consumed);
    return oldest <= consumed;
}

/// @return false when there is no room in the target's ring or for the data.
bool post_office::try_send(detail::rank_context& context, mail_room& own,
                           const message_request& request) {
    mail_area& area = area_of(request.target);
    message_ring& ring = request.is_reply ? area.replies : area.requests;
    message_slot where;
    ring_access access;
    share* const own_share = request.is_reply ? nullptr : &share_of(context.rank, request.target);
    if (own_share != nullptr && !has_share(*own_share, ring)) return false;
    const bool is_copied = request.bytes != 0 && !request.lends_data;
    if (is_copied && !ring_protocol::has_room(access, ring, ring_slots)) return false;
    if (!place_data(own, request, where)) return false;
    std::uint64_t ticket = 0;
    if (!ring_protocol::draw(access, ring, ring_slots, ticket)) {
        if (where.place == data_place::pool) {
            give_back_payload(context,
                              request.is_reply ? own.area_.reply_pool : own.area_.request_pool,
                              mapping_.start() + where.data);
        }
        return false;
    }
    if (own_share != nullptr) own_share->note(ticket);
    message_slot& slot = ring.slots[ticket % ring_slots];
    slot.handler = request.handler;
    slot.origin = context.rank;
    slot.target = request.target;
    slot.kind = request.kind;
    slot.argument_bytes = static_cast<std::uint8_t>(request.arguments.size());
    slot.place = where.place;
    copy_arguments(slot.arguments, request.arguments.data(), request.arguments.size());
    if (where.place != data_place::nowhere) {
        slot.data = where.data;
        slot.data_bytes = where.data_bytes;
    }
    ring_access::publish(slot, ticket);
    detail::word_changed(context, area.arrivals);
    return true;
}

/// Not in a handler: serves others until there is room.
void post_office::send_waiting(detail::rank_context& context, mail_room& own,
                               const message_request& request) {
    const call_scope scope(context, operation::send, std::source_location::current());
    mail_area& area = area_of(request.target);
    message_ring& ring = request.is_reply ? area.replies : area.requests;
    detail::shared_word& freed = own.requests_under_way_.freed();
    while (true) {
        const awaited_word also{&freed, detail::word_load(freed) + 1};
        const std::uint64_t consumed = detail::word_load(ring.consumed);
        if (try_send(context, own, request)) return;
        context.clock->wait(context, {.word = ring.consumed,
                                      .at_least = consumed + 1,
                                      .reason = wait_reason::message,
                                      .others = {&also, request.bytes != 0 ? 1u : 0u}});
    }
}

void post_office::send(detail::rank_context& context, const message_request& request) {
    mail_room& own = room_of(context);
    if (!context.in_handler) {
        // What its handlers could not send goes first.
        while (own.has_parked()) own.serve(context);
        if (!try_send(context, own, request)) send_waiting(context, own, request);
        return;
    }
    if (!request.is_reply && own.has_parked()) return own.park(request);
    while (!try_send(context, own, request)) {
        if (!request.is_reply) return own.park(request);
        if (!own.serve_replies(context)) sched_yield();
    }
}

}  // namespace selion::machine::node
