// SPDX-License-Identifier: Apache-2.0
#include "machine/node/mail_room.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

#include "machine/call_record.hpp"
#include "machine/death_list.hpp"
#include "machine/node/attendance.hpp"
#include "machine/node/doorbell.hpp"
#include "machine/node/post_office.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::node {
namespace {

/// Messages that one call of `serve` delivers at most from each ring, so that a call that waits for
/// something looks whether it has come.
constexpr int most_served = 64;
/// Messages after which senders are told that there is room again.
constexpr std::uint64_t told_after = ring_slots / 8;

}  // namespace

mail_room::mail_room(post_office& office, std::uint32_t carrier,
                     std::span<detail::rank_context> ranks)
    : office_(office),
      box_(office.mapping_.mail(carrier)),
      readers_(std::span(all_readers_).first(box_.rings().size())),
      signs_(std::span(all_signs_).first(readers_.size())),
      ways_(office.ways_from(carrier)),
      ranks_(ranks),
      first_rank_(ranks.front().rank),
      has_one_server_(office.mapping_.has_one_thread_each()),
      requests_under_way_(box_.area->request_pool, box_.request_bytes,
                          office.mapping_.control().pool_bytes),
      replies_under_way_(box_.area->reply_pool, box_.reply_bytes,
                         office.mapping_.control().pool_bytes) {
    for (std::size_t i = 0; i < readers_.size(); ++i) {
        readers_[i].ring = &box_.rings()[i];
        signs_[i].reader = &readers_[i];
        find_next(signs_[i], *readers_[i].ring, false, 0);
    }
    if (!office.uses_rows_) return;
    // Carriers have a rank each, and a ring for each of the others.
    for (std::uint32_t from = 0; from < ways_.size(); ++from) {
        row_way& way = row_ways_[from] =
            row_way(ways_[from], first_rank_, from + office.ranks_before_);
        const std::size_t lane = office.carrier_of_rank_[from];
        for (const bool are_replies : {true, false}) {
            ring_reader& reader = readers_[are_replies ? lane : lanes() + lane];
            reader.back = &way;
            reader.row_head = &way.taken_from(are_replies);
        }
    }
    ways_ = {};
    open_short_cuts();
}

/// A rank of such a room sends and sees messages without many words, unless something comes first.
void mail_room::open_short_cuts() {
    if (!office_.has_short_cuts_) return;
    detail::rank_context& only = ranks_.front();
    const bool nothing_first = !has_parked();
    only.short_ways = nothing_first ? row_ways_.data() : nullptr;
    only.signs = nothing_first && have_all_begun_ ? signs_.data() : nullptr;
    only.signs_end = signs_.data() + signs_.size();
}

/// Handlers may use what a rank makes when it begins.
bool mail_room::may_serve() {
    if (have_all_begun_.load(std::memory_order_relaxed)) return true;
    const bool have_begun = std::ranges::all_of(ranks_, [](const detail::rank_context& rank) {
        // acquire: what it has made [rank.begun]
        return std::atomic_ref(rank.call->has_begun).load(std::memory_order_acquire) != 0;
    });
    have_all_begun_.store(have_begun, std::memory_order_relaxed);
    open_short_cuts();
    return have_begun;
}

[[gnu::always_inline]] inline bool mail_room::serve_rings(detail::rank_context& server,
                                                          std::size_t first, std::size_t end) {
    bool has_served = false;
    for (std::size_t i = first; i < end; ++i) {
        if (!signs_[i].has_come()) continue;
        if (!may_serve()) break;
        serve_ring(server, signs_[i]);
        has_served = true;
    }
    return has_served;
}

[[gnu::noinline]] bool mail_room::serve_found(detail::rank_context& server, mail_sign& found) {
    auto& reader = *static_cast<ring_reader*>(found.reader);
    if (reader.back != nullptr) [[likely]] {
        serve_row(server, reader, found);
    } else {
        serve_ring(server, found);
    }
    serve_rings(server, static_cast<std::size_t>(&found - all_signs_.data()) + 1, signs_.size());
    if (has_parked()) [[unlikely]]
        send_parked();
    return true;
}

/// The room that the thread serves: handlers run, and what they call. Null where a room has one
/// thread anyway.
thread_local constinit const mail_room* served_here = nullptr;

/// The right to serve a room that several threads may serve.
class mail_room::service {
public:
    explicit service(mail_room& room)
        // acquire and release: what the last one who served did is done [room.served]
        : room_(room), has_it_(!room.is_served_.test_and_set(std::memory_order_acquire)) {
        if (has_it_) outer_ = std::exchange(served_here, &room);
    }
    ~service() {
        if (!has_it_) return;
        served_here = outer_;
        room_.is_served_.clear(std::memory_order_release);  // [room.served]
    }
    service(const service&) = delete;
    service& operator=(const service&) = delete;

    explicit operator bool() const { return has_it_; }

private:
    mail_room& room_;
    bool has_it_;
    const mail_room* outer_ = nullptr;
};

[[gnu::noinline]] bool mail_room::serve_as_one_of_several(detail::rank_context& server) {
    if (!has_mail()) return false;
    const service mine(*this);
    return mine && serve_all(server);
}

/// A reply does not get away, so its sender serves those of others. They may send replies, too, and
/// those are parked: they do not serve in turn, each on the stack of the one before.
/// @pre not `sends_reply_`, if the caller serves the room. @return whether anything was done.
bool mail_room::serve_replies_while_sending(detail::rank_context& server) {
    const auto serve_now = [&] {
        sends_reply_ = true;
        const bool has_served = serve_rings(server, 0, lanes());
        sends_reply_ = false;
        return has_served;
    };
    if (has_one_server_ || served_here == this) return serve_now();
    const service mine(*this);
    return mine && serve_now();
}

/// Whether the caller, who sends a reply, is called by one who serves for the same reason.
bool mail_room::must_park_reply() const {
    return (has_one_server_ || served_here == this) && sends_reply_;
}

/// The atomics of `attendance` on real memory.
class mail_room::room_access : public host_access {
public:
    using host_access::host_access;
    static void add_attendant(mail_room& room) {
        room.attendants_.fetch_add(1, std::memory_order_relaxed);
    }
    /// @return whether nobody attends now.
    static bool remove_attendant(mail_room& room) {
        return room.attendants_.fetch_sub(1, std::memory_order_relaxed) == 1;
    }
    static detail::shared_word& arrivals_of(mail_room& room) { return room.box_.area->arrivals; }
};

void mail_room::attend() {
    room_access access(office_.mapping_.control(), office_.mapping_.is_shared(), no_deadline);
    attendance::attend(access, *this, notifier_);
}

void mail_room::leave(detail::rank_context& server, std::uint32_t bell_number) {
    room_access access(office_.mapping_.control(), office_.mapping_.is_shared(), no_deadline);
    if (!attendance::leave(access, *this, notifier_, bell_number + 1)) return;
    serve(server);
    // There may be more than it serves at a time, and a thread that polls does not attend: it may
    // serve now, and have passed what has come since.
    if (has_mail()) sleep_protocol::ring(access, office_.mapping_.bell(notifier_ - 1));
}

/// Another carrier has taken messages of this one.
[[gnu::always_inline]] inline void mail_room::learn_counts(const message_way& way,
                                                           const std::byte* told) {
    row_counts counts;
    std::memcpy(&counts, told, sizeof counts);
    const ring_access access;
    ring_protocol::learn(access, *way.rings[0], counts.requests);
    ring_protocol::learn(access, *way.rings[1], counts.replies);
}

/// The message has been copied.
[[gnu::always_inline]] inline void mail_room::step_past(detail::rank_context& server,
                                                        ring_reader& reader, mail_sign& sign,
                                                        bool next_in_row) {
    if (reader.is_in_row) {
        *reader.row_head = sign.value;
        reader.back->note_taken();
        if (next_in_row) [[likely]]
            return find_next(sign, *reader.ring, true, sign.value);
    } else {
        __builtin_prefetch(&reader.ring->slots[(sign.value + 1) % ring_slots]);
        ring_access::set_head(reader, sign.value);
        if (sign.value % told_after == 0) [[unlikely]]
            detail::word_store(server, reader.ring->consumed, sign.value);
    }
    // Not written where several threads look at it, and all messages are outside of the row.
    if (reader.is_in_row != next_in_row) reader.is_in_row = next_in_row;
    find_next(sign, *reader.ring, next_in_row,
              next_in_row ? *reader.row_head : ring_access::head(reader));
}

/// Where a message is to be written: nothing is, until then.
union unwritten_message {
    alignas(16) incoming_message message;
    unwritten_message() {}
};

/// A message without data. In pieces of 16 bytes, because those who pass parts of it on copy them
/// in such pieces, and a processor hands a load what a store has on its way only if that store has
/// all of it; else the load waits until the stores are in the cache, for 9 ns.
[[gnu::always_inline]] inline void write_short(incoming_message& message, const message_slot& slot,
                                               const std::byte* arguments) {
    static_assert(offsetof(message_info, data_bytes) == 8 && offsetof(message_info, data) == 16 &&
                  sizeof(message_info) == 32 && offsetof(incoming_message, about) == 0 &&
                  offsetof(incoming_message, kind) == 32 && offsetof(message_about, kind) == 0 &&
                  offsetof(incoming_message, handler) == 40 &&
                  offsetof(message_slot, handler) == offsetof(message_slot, about) + 8 &&
                  offsetof(incoming_message, state) == 64 &&
                  offsetof(incoming_message, completion) == 72);
    store_pair(&message.about, slot.ends.origin, 0);
    store_pair(&message.about.data, 0, 0);                            // an empty span
    std::memcpy(static_cast<void*>(&message.kind), &slot.about, 16);  // and the handler
    message.arguments = {arguments, slot.about.argument_bytes};
    store_pair(&message.state, 0, 0);
}

/// What a message has that is not in its slot.
/// @param arguments their first ones are there.
void mail_room::add_rest(const ring_reader& reader, const mail_sign& sign, std::byte* arguments,
                         incoming_message& message) const {
    const message_about& about = slot_of(sign).about;
    const message_rest& rest = reader.ring->rest(reader.is_in_row, sign.value - 1);
    if (about.argument_bytes > few_argument_bytes) {
        std::memcpy(arguments + few_argument_bytes, rest.arguments, sizeof rest.arguments);
    }
    if (about.place == data_place::nowhere) return;
    message.about.data = {data_of(rest, about.place), rest.data_bytes};
    message.about.data_bytes = rest.data_bytes;
}

/// @pre there is a message. Its slot is free for senders as soon as it has been copied; so a
/// handler that waits for room may serve replies meanwhile.
template <bool is_own>
[[gnu::always_inline]] inline void mail_room::serve_next(detail::rank_context& server,
                                                         ring_reader& reader, mail_sign& sign) {
    const message_slot& slot = slot_of(sign);
    const message_about about = slot.about;
    if (about.has_rest()) [[unlikely]]
        return serve_long(server, reader, sign, is_own);
    alignas(16) std::byte arguments[few_argument_bytes];
    std::memcpy(arguments, slot.arguments, few_argument_bytes);
    unwritten_message place;
    write_short(place.message, slot, arguments);
    const std::uint32_t target = slot.ends.target;
    step_past(server, reader, sign, about.next_in_row);
    if constexpr (is_own) {
        office_.deliver_(server, place.message);
    } else {
        deliver(server, target, place.message);
    }
    if (about.tells_counts) learn_counts(*reader.back, arguments + counts_offset);
}

/// The same for one that is more than its slot.
[[gnu::noinline]] void mail_room::serve_long(detail::rank_context& server, ring_reader& reader,
                                             mail_sign& sign, bool is_own) {
    const message_slot& slot = slot_of(sign);
    const message_about about = slot.about;
    const message_ends ends = slot.ends;
    alignas(16) std::byte arguments[most_argument_bytes];
    std::memcpy(arguments, slot.arguments, few_argument_bytes);
    unwritten_message place;
    write_short(place.message, slot, arguments);
    add_rest(reader, sign, arguments, place.message);
    const std::byte* const data = place.message.about.data.data();
    step_past(server, reader, sign, about.next_in_row);
    if (is_own) {
        office_.deliver_(server, place.message);
    } else {
        deliver(server, ends.target, place.message);
    }
    if (about.tells_counts) learn_counts(*reader.back, arguments + counts_offset);
    if (about.place == data_place::pool) give_back(server, reader, ends.origin, data);
}

/// A ring with a row is a carrier's with one rank, whose own thread serves it.
[[gnu::always_inline]] inline void mail_room::serve_row(detail::rank_context& server,
                                                        ring_reader& reader, mail_sign& sign) {
    reader.back->expect_answer();
    detail::working_mode& mode = server.own;
    const detail::working_mode before = mode;
    // In one piece: GCC assigns its fields one by one, on the way of every message.
    std::memcpy(static_cast<void*>(&mode), &detail::mode_of_handlers, sizeof mode);
    serve_next<true>(server, reader, sign);
    if (sign.has_come()) [[unlikely]]
        serve_more(server, reader, sign);
    mode = before;
}

[[gnu::noinline]] void mail_room::serve_more(detail::rank_context& server, ring_reader& reader,
                                             mail_sign& sign) {
    int served = 1;
    do {
        serve_next<true>(server, reader, sign);
    } while (++served < most_served && sign.has_come());
}

[[gnu::noinline]] void mail_room::serve_ring(detail::rank_context& server, mail_sign& sign) {
    auto& reader = *static_cast<ring_reader*>(sign.reader);
    if (reader.back != nullptr) return serve_row(server, reader, sign);
    int served = 0;
    do {
        serve_next<false>(server, reader, sign);
    } while (++served < most_served && sign.has_come());
    if (office_.has_shares_) tell_consumed(server, reader);
}

/// To senders that may have only a few messages under way.
void mail_room::tell_consumed(detail::rank_context& server, const ring_reader& reader) {
    message_ring& ring = *reader.ring;
    const std::uint64_t head = ring_access::head(reader);
    if (ring_access::consumed(ring) != head) detail::word_store(server, ring.consumed, head);
}

/// Data in a pool of the sender have been read.
void mail_room::give_back(detail::rank_context& server, const ring_reader& reader,
                          std::uint32_t origin, const std::byte* data) {
    mail_area& senders = *office_.box_of(origin).area;
    const bool is_reply = &reader < readers_.data() + lanes();
    give_back_payload(server, is_reply ? senders.reply_pool : senders.request_pool, data);
}

const std::byte* mail_room::data_of(const message_rest& rest, data_place place) const {
    if (place == data_place::process) return reinterpret_cast<const std::byte*>(rest.data);
    return office_.mapping_.start() + rest.data;
}

void mail_room::deliver(detail::rank_context& server, std::uint32_t rank,
                        incoming_message& message) {
    detail::rank_context& target = ranks_[rank - first_rank_];
    if (server.is_foreign_thread) [[unlikely]]
        return deliver_as_guest(server, message, target);
    detail::working_mode& mode = target.own;
    const detail::working_mode before = std::exchange(mode, detail::mode_of_handlers);
    detail::rank_context* const outer = std::exchange(detail::current_context, &target);
    office_.deliver_(target, message);
    detail::current_context = outer;
    mode = before;
}

/// On a thread that has joined a rank: the rank's own may be using the rank's context.
void mail_room::deliver_as_guest(detail::rank_context& server, incoming_message& message,
                                 const detail::rank_context& target) {
    detail::rank_context copy = target;
    copy.waiter = server.waiter;
    copy.is_foreign_thread = true;
    copy.recorder = nullptr;
    copy.own.in_handler = true;
    copy.own.signal_count = copy.bypass_count;
    detail::rank_context* const outer = std::exchange(detail::current_context, &copy);
    office_.deliver_(copy, message);
    detail::current_context = outer;
}

void mail_room::park(const detail::rank_context& sender, const message_request& request) {
    const auto* data = static_cast<const std::byte*>(request.data);
    {
        const std::lock_guard lock(parking_);
        parked_count_.fetch_add(1, std::memory_order_relaxed);
        open_short_cuts();
        parked_message& kept =
            (request.is_reply ? parked_replies_ : parked_requests_).emplace_back();
        kept.sender = &ranks_[sender.rank - first_rank_];
        kept.arguments.assign(request.arguments.begin(), request.arguments.end());
        if (!request.lends_data) kept.data.assign(data, data + request.bytes);
        kept.request = request;
        kept.request.arguments = kept.arguments;
        if (!request.lends_data) kept.request.data = kept.data.data();
    }
    // Whoever serves now may leave, and those who sleep have seen an empty room.
    if (!has_one_server_) detail::mail_arrived(*detail::current_context, box_.area->arrivals);
}

bool mail_room::send_parked() {
    const std::lock_guard lock(parking_);
    const bool has_replied = send_parked(parked_replies_);
    const bool has_sent = send_parked(parked_requests_) || has_replied;
    open_short_cuts();
    return has_sent;
}

/// Each in the name of its sender, whichever rank of the room serves. @pre `parking_` is held.
bool mail_room::send_parked(std::deque<parked_message>& queue) {
    bool has_sent = false;
    while (!queue.empty()) {
        const parked_message& next = queue.front();
        const death_list* const deaths = next.sender->deaths;
        const bool is_vain = deaths != nullptr && deaths->is_dead(next.request.target);
        if (!is_vain && !office_.try_send(*next.sender, *this, next.request)) {
            post_office::call_to_mail(*next.sender, next.request.target);
            break;
        }
        queue.pop_front();
        parked_count_.fetch_sub(1, std::memory_order_relaxed);
        has_sent = true;
    }
    return has_sent;
}

}  // namespace selion::machine::node
