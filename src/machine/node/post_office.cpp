// SPDX-License-Identifier: Apache-2.0
#include "machine/node/post_office.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "machine/call_record.hpp"
#include "machine/death_list.hpp"
#include "machine/node/turns.hpp"
#include "selion/detail/word_access.hpp"
#include "selion/error.hpp"

namespace selion::machine::node {
namespace {

/// Messages that a rank may have under way to one carrier at least. Half a ring is shared out, so
/// that a rank which is quicker than others does not keep them from it.
constexpr std::uint64_t least_share = 4;
/// Looks for room for what is parked before the rank waits for it by naps, and how long one is.
constexpr int brief_parked_looks = 256;
constexpr std::int64_t parked_nap_ns = 100'000;

/// Few words are not worth a call of memcpy, nor a loop that the compiler unrolls.
inline void copy_arguments(message_ring& ring, const drawn_ticket& drawn, const std::byte* from,
                           std::size_t bytes) {
    std::byte* const to = ring.slot(drawn.in_row, drawn.ticket).arguments;
    const auto copy = [&](std::size_t word) {
        std::memcpy(to + word * sizeof(std::uint64_t), from + word * sizeof(std::uint64_t),
                    sizeof(std::uint64_t));
    };
    switch (bytes / sizeof(std::uint64_t)) {
        default:
            std::memcpy(to, from, few_argument_bytes);
            std::memcpy(ring.rest(drawn.in_row, drawn.ticket).arguments, from + few_argument_bytes,
                        bytes - few_argument_bytes);
            return;
        case 4: copy(3); [[fallthrough]];
        case 3: copy(2); [[fallthrough]];
        case 2: copy(1); [[fallthrough]];
        case 1: copy(0); [[fallthrough]];
        case 0: return;
    }
}

bool is_dead(const detail::rank_context& context, std::uint32_t rank) {
    return context.deaths != nullptr && context.deaths->is_dead(rank);
}

}  // namespace

post_office::post_office(const shared_mapping& mapping, const node_shape& shape,
                         std::uint32_t process, std::uint32_t ranks_before)
    : mapping_(mapping),
      shape_(shape),
      process_(process),
      ranks_before_(ranks_before),
      first_carrier_(process * shape.carriers_per_process) {}

void post_office::open(std::span<detail::rank_context> ranks,
                       std::span<const std::uint32_t> first_rank,
                       void (*deliver)(detail::rank_context&, incoming_message&),
                       bool is_only_way) {
    deliver_ = deliver;
    first_rank_ = ranks.front().rank;
    for (std::uint32_t rank = 0; rank < mapping_.control().ranks; ++rank) {
        carrier_of_rank_.push_back(shape_.carrier_of(rank));
    }
    for (std::uint32_t c = 0; c < shape_.carriers(); ++c) boxes_.push_back(mapping_.mail(c));
    const bool has_own_rings = mapping_.control().mail_rings == shape_.carriers();
    has_shares_ = !has_own_rings || shape_.has_fibers();
    has_single_senders_ = has_own_rings && mapping_.has_one_thread_each();
    uses_rows_ = has_single_senders_ && !has_shares_;
    has_short_cuts_ = uses_rows_ && is_only_way;
    const std::uint64_t senders = std::max(mapping_.control().ranks, 2u) - 1;
    share_messages_ = std::bit_floor(std::max(ring_slots / 2 / senders, least_share));
    if (has_shares_) shares_ = untouched_array<share>(ranks.size() * shape_.carriers());
    for (std::uint32_t c = 0; c < shape_.carriers_per_process; ++c) {
        rooms_.emplace_back(*this, first_carrier_ + c,
                            ranks.subspan(first_rank[c], first_rank[c + 1] - first_rank[c]));
        for (std::uint32_t r = first_rank[c]; r < first_rank[c + 1]; ++r) {
            ranks[r].room = &rooms_.back();
        }
    }
}

/// Each carrier has a ring of its own at every other one, or all share one.
std::vector<message_way> post_office::ways_from(std::uint32_t carrier) const {
    std::vector<message_way> ways;
    for (const std::uint32_t target : carrier_of_rank_) {
        const mailbox& box = boxes_[target];
        const std::size_t lane = carrier % box.requests.size();
        ways.push_back({{&box.requests[lane], &box.replies[lane]}, &box.area->arrivals});
    }
    return ways;
}

bool post_office::can_lend(std::uint32_t target, const void* data, std::size_t bytes) const {
    if ((target - ranks_before_) / shape_.ranks_per_process == process_) return true;
    const auto* start = static_cast<const std::byte*>(data);
    const std::byte* const end = mapping_.start() + mapping_.control().total_bytes;
    return start >= mapping_.start() && start <= end &&
           bytes <= static_cast<std::size_t>(end - start);
}

std::uint64_t post_office::most_message_bytes() const {
    return mapping_.control().pool_bytes - 2 * sizeof(payload_header);
}

/// @return false when there is no place for the data now.
bool post_office::place_data(mail_room& own, const message_request& request, data_position& where) {
    where.bytes = request.bytes;
    if (request.lends_data) {
        const auto* data = static_cast<const std::byte*>(request.data);
        const bool is_mapped =
            data >= mapping_.start() && data < mapping_.start() + mapping_.control().total_bytes;
        where.place = is_mapped ? data_place::mapping : data_place::process;
        where.start = is_mapped ? static_cast<std::uint64_t>(data - mapping_.start())
                                : reinterpret_cast<std::uint64_t>(data);
        return true;
    }
    payload_store& store = request.is_reply ? own.replies_under_way_ : own.requests_under_way_;
    std::byte* const place = store.take(request.bytes, request.target);
    if (place == nullptr) return false;
    std::memcpy(place, request.data, request.bytes);
    where.place = data_place::pool;
    where.start = static_cast<std::uint64_t>(place - mapping_.start());
    return true;
}

post_office::share& post_office::share_of(std::uint32_t rank, std::uint32_t target) {
    share& own = shares_[(rank - first_rank_) * shape_.carriers() + carrier_of(target)];
    // acquire: their values; pairs with who makes them [share.tickets]
    if (std::atomic_ref(own.tickets).load(std::memory_order_acquire) == nullptr) begin(own);
    return own;
}

/// Another thread of the rank may do so at the same time.
void post_office::begin(share& own) {
    const std::lock_guard hold(of_share_tickets_);
    if (own.tickets != nullptr) return;
    share_tickets_.push_back(std::make_unique<std::uint64_t[]>(share_messages_));
    own.last = share_messages_ - 1;
    // release: pairs with who uses them [share.tickets]
    std::atomic_ref(own.tickets).store(share_tickets_.back().get(), std::memory_order_release);
}

/// Whether the oldest of a rank's last messages to a carrier has been taken.
bool post_office::has_share(share& own, message_ring& ring) {
    const std::uint64_t oldest = share::look(own.oldest());
    if (oldest <= ring_access::known_consumed(ring)) return true;
    const std::uint64_t consumed = ring_access::consumed(ring);
    ring_access::set_known_consumed(ring, consumed);
    return oldest <= consumed;
}

/// @param has_one_sender,uses_row of the ring.
[[gnu::always_inline]] inline bool draw(message_ring& ring, bool has_one_sender, bool uses_row,
                                        drawn_ticket& drawn) {
    const ring_access access{.has_one_sender = has_one_sender, .uses_row = uses_row};
    return uses_row ? ring_protocol::draw_with_row(access, ring, {}, drawn)
                    : ring_protocol::draw(access, ring, {}, drawn);
}

/// @return null when there is none to be had without waiting, or without keeping account.
[[gnu::always_inline]] inline message_slot* post_office::next_slot(const mail_room& own,
                                                                   message_ring& ring,
                                                                   drawn_ticket& drawn) const {
    if (has_shares_ || own.has_parked()) return nullptr;
    if (!draw(ring, has_single_senders_, uses_rows_, drawn)) return nullptr;
    return &ring.slot(drawn.in_row, drawn.ticket);
}

void post_office::send_plain(detail::rank_context& context, std::uint32_t target,
                             std::uint64_t handler, const std::byte* arguments, std::size_t bytes) {
    mail_room& own = room_of(context);
    message_way& way = way_to(own, target);
    message_ring& ring = way.ring_for(false);
    drawn_ticket drawn;
    message_slot* const next = next_slot(own, ring, drawn);
    if (next == nullptr) [[unlikely]]
        return send_accounted(context, target, handler, arguments, bytes);
    message_slot& slot = *next;
    bool tells_counts = false;
    if (uses_rows_) {
        auto& row = static_cast<row_way&>(way);
        row.note_drawn(false);
        tells_counts = bytes <= counts_offset && row.tell_counts(slot);
    }
    slot.handler = handler;
    slot.ends = {.origin = context.rank, .target = target};
    slot.about = {.kind = 0,
                  .argument_bytes = static_cast<std::uint8_t>(bytes),
                  .place = data_place::nowhere,
                  .next_in_row = drawn.next_in_row,
                  .tells_counts = tells_counts};
    copy_arguments(ring, drawn, arguments, bytes);
    ring_access::publish(slot, drawn.ticket);
    detail::mail_arrived(context, *way.arrivals);
}

/// Where it is not to be had without waiting, or without keeping account.
[[gnu::noinline]] void post_office::send_accounted(detail::rank_context& context,
                                                   std::uint32_t target, std::uint64_t handler,
                                                   const std::byte* arguments, std::size_t bytes) {
    send(context, {.target = target,
                   .kind = 0,
                   .handler = handler,
                   .arguments = {arguments, bytes},
                   .site = context.own.send_site});
}

/// @return false when there is no room in the target's ring or for the data.
bool post_office::try_send(detail::rank_context& context, mail_room& own,
                           const message_request& request) {
    message_way& way = way_to(own, request.target);
    message_ring& ring = way.ring_for(request.is_reply);
    const bool has_own_share = has_shares_ && !request.is_reply;
    if (has_own_share && !has_share(share_of(context.rank, request.target), ring)) return false;
    data_position where;
    if (request.bytes != 0) {
        const bool is_copied = !request.lends_data;
        const ring_access access{.has_one_sender = has_single_senders_, .uses_row = uses_rows_};
        if (is_copied && !ring_protocol::has_room(access, ring, {})) return false;
        if (!place_data(own, request, where)) return false;
    }
    drawn_ticket drawn;
    if (!draw(ring, has_single_senders_, uses_rows_, drawn)) {
        if (where.place == data_place::pool) {
            mail_area& area = *own.box_.area;
            give_back_payload(context, request.is_reply ? area.reply_pool : area.request_pool,
                              mapping_.start() + where.start);
        }
        return false;
    }
    if (has_own_share) share_of(context.rank, request.target).note(drawn.ticket);
    message_slot& slot = ring.slot(drawn.in_row, drawn.ticket);
    bool tells_counts = false;
    if (uses_rows_) {
        auto& row = static_cast<row_way&>(way);
        row.note_drawn(request.is_reply);
        tells_counts = request.arguments.size() <= counts_offset && row.tell_counts(slot);
    }
    slot.handler = request.handler;
    slot.ends = {.origin = context.rank, .target = request.target};
    slot.about = {.kind = request.kind,
                  .argument_bytes = static_cast<std::uint8_t>(request.arguments.size()),
                  .place = where.place,
                  .next_in_row = drawn.next_in_row,
                  .tells_counts = tells_counts};
    copy_arguments(ring, drawn, request.arguments.data(), request.arguments.size());
    if (where.place != data_place::nowhere) {
        message_rest& rest = ring.rest(drawn.in_row, drawn.ticket);
        rest.data = where.start;
        rest.data_bytes = where.bytes;
    }
    ring_access::publish(slot, drawn.ticket);
    detail::mail_arrived(context, *way.arrivals);
    if (request.on_sent != nullptr) {
        request.on_sent(context, request.target, request.sent_argument);
    }
    return true;
}

/// @param deadline_ns of the collective that sends it. @return whether that has passed.
bool post_office::is_late(detail::rank_context& context, std::int64_t deadline_ns) {
    return deadline_ns != no_deadline && context.clock->now_ns() >= deadline_ns;
}

void post_office::throw_late(const detail::rank_context& context, const message_request& request) {
    throw error(status::timed_out,
                fmt::format("rank {} has waited too long for rank {} to take a message, in a "
                            "collective that was to end within {:g} s",
                            context.rank, request.target,
                            static_cast<double>(context.own.timeout_ns) / 1e9),
                {.rank = context.rank,
                 .peer = request.target,
                 .operation = "send",
                 .bytes = request.bytes});
}

/// Not in a handler: what its handlers could not send goes first. By the machine's poll: it may be
/// that handlers also run for what comes another way, and they run one at a time.
void post_office::send_parked_first(detail::rank_context& context, const mail_room& own,
                                    const message_request& request) {
    for (int look = 0; look < brief_parked_looks; ++look) {
        if (!own.has_parked()) return;
        if (!context.transport->poll(context)) turn_watch(context).yield();
    }
    const send_scope scope(context, request.site);
    const std::int64_t deadline_ns = context.own.deadline_ns;
    while (own.has_parked()) {
        if (is_late(context, deadline_ns)) throw_late(context, request);
        // Nobody rings when there is room for what is parked, here or there.
        detail::shared_word never{0, 0, 0};
        context.clock->wait(context, {.word = never,
                                      .at_least = 1,
                                      .reason = wait_reason::message,
                                      .deadline_ns = context.clock->now_ns() + parked_nap_ns});
    }
}

/// A rank whose accesses are no calls would not look after its messages.
void post_office::call_to_mail(detail::rank_context& context, std::uint32_t target) {
    if (context.call_to_mail != nullptr) context.call_to_mail(context, target);
}

/// Not in a handler: serves others until there is room.
void post_office::send_waiting(detail::rank_context& context, mail_room& own,
                               const message_request& request) {
    const send_scope scope(context, request.site);
    message_ring& ring = way_to(own, request.target).ring_for(request.is_reply);
    detail::shared_word& freed =
        (request.is_reply ? own.replies_under_way_ : own.requests_under_way_).freed();
    while (true) {
        std::array<awaited_word, 2> others;
        std::size_t count = 0;
        if (request.bytes != 0) others[count++] = {&freed, detail::word_load(freed) + 1};
        if (context.deaths != nullptr) {
            others[count++] = {&context.deaths->word(), context.deaths->told() + 1};
        }
        if (is_dead(context, request.target)) throw_death_of(context, request.target, "send");
        const std::uint64_t consumed = detail::word_load(ring.consumed);
        if (try_send(context, own, request)) return;
        call_to_mail(context, request.target);  // again, since others may have taken the room
        const std::int64_t deadline_ns = context.own.deadline_ns;  // of a collective that sends it
        context.clock->wait(context, {.word = ring.consumed,
                                      .at_least = consumed + 1,
                                      .reason = wait_reason::message,
                                      .deadline_ns = deadline_ns,
                                      .others = std::span(others).first(count)});
        if (!is_late(context, deadline_ns)) continue;
        if (try_send(context, own, request)) return;
        throw_late(context, request);
    }
}

void post_office::give_up(detail::rank_context& server, std::uint32_t dead) {
    for (mail_room& room : rooms_) {
        room.requests_under_way_.give_up(server, dead);
        room.replies_under_way_.give_up(server, dead);
    }
}

void post_office::send(detail::rank_context& context, const message_request& request) {
    mail_room& own = room_of(context);
    if (!context.own.in_handler) {
        if (own.has_parked()) send_parked_first(context, own, request);
        if (!try_send(context, own, request)) send_waiting(context, own, request);
        return;
    }
    if (!request.is_reply && own.has_parked()) return own.park(context, request);
    while (!try_send(context, own, request)) {
        if (is_dead(context, request.target)) return context.deaths->drop();
        call_to_mail(context, request.target);
        if (!request.is_reply || own.must_park_reply()) return own.park(context, request);
        if (!own.serve_replies_while_sending(context)) turn_watch(context).yield();
    }
}

}  // namespace selion::machine::node
