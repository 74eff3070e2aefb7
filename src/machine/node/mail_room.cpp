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
      ways_(office.ways_from(carrier, readers_)),
      ranks_(ranks),
      first_rank_(ranks.front().rank),
      has_one_server_(office.mapping_.has_one_thread_each()),
      requests_under_way_(box_.area->request_pool, box_.request_bytes,
                          office.mapping_.control().pool_bytes),
      replies_under_way_(box_.area->reply_pool, box_.reply_bytes,
                         office.mapping_.control().pool_bytes) {
    for (std::size_t i = 0; i < readers_.size(); ++i) {
        readers_[i].ring = &box_.rings()[i];
        find_next(readers_[i], false, 0);
    }
    if (!office.uses_rows_) return;
    // Carriers have a rank each, and a ring for each of the others.
    for (std::uint32_t from = 0; from < ways_.size(); ++from) {
        const std::size_t lane = office.carrier_of_rank_[from];
        readers_[lane].back = readers_[readers_.size() / 2 + lane].back = &ways_[from];
    }
}

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

[[gnu::always_inline]] inline bool mail_room::serve_rings(detail::rank_context& server,
                                                          std::span<ring_reader> readers) {
    bool has_served = false;
    for (ring_reader& reader : readers) {
        if (!has_next(reader)) continue;
        if (!may_serve()) break;
        serve_ring(server, reader);
        has_served = true;
    }
    return has_served;
}

/// @param first the first of the readers that has a message.
[[gnu::noinline]] bool mail_room::serve_found(detail::rank_context& server, ring_reader* first,
                                              ring_reader* end) {
    const bool has_served = may_serve();
    if (has_served) {
        serve_ring_inline(server, *first);
        serve_rings(server, {first + 1, end});
    }
    return (has_parked() && send_parked()) || has_served;
}

/// A look that mostly finds nothing.
[[gnu::always_inline]] inline bool mail_room::serve_all(detail::rank_context& server) {
    ring_reader* const end = readers_.data() + readers_.size();
    for (ring_reader* reader = readers_.data(); reader != end; ++reader) {
        if (has_next(*reader)) return serve_found(server, reader, end);
    }
    return has_parked() && send_parked();
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

bool mail_room::serve(detail::rank_context& server) {
    return has_one_server_ ? serve_all(server) : serve_as_one_of_several(server);
}

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
        const bool has_served = serve_rings(server, replies());
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
[[gnu::always_inline]] inline void mail_room::learn_counts(std::uint32_t origin,
                                                           const std::byte* told) const {
    row_counts counts;
    std::memcpy(&counts, told, sizeof counts);
    const message_way& way = office_.way_to(*this, origin);
    const ring_access access;
    ring_protocol::learn(access, *way.requests, counts.requests);
    ring_protocol::learn(access, *way.replies, counts.replies);
}

/// The message has been copied.
[[gnu::always_inline]] inline void mail_room::step_past(detail::rank_context& server,
                                                        ring_reader& reader, bool next_in_row) {
    if (reader.is_in_row) {
        ++reader.row_head;
    } else {
        const std::uint64_t head = ring_access::head(reader) + 1;
        ring_access::set_head(reader, head);
        if (head % told_after == 0) [[unlikely]]
            detail::word_store(server, reader.ring->consumed, head);
    }
    // Not written where several threads look at it, and all messages are outside of the row.
    if (reader.is_in_row != next_in_row) reader.is_in_row = next_in_row;
    find_next(reader, next_in_row, next_in_row ? reader.row_head : ring_access::head(reader));
}

/// Of a message without data. In pieces of 16 bytes, because those who pass it on copy it in such
/// pieces, and a processor hands a load what a store has on its way only if that store has all of
/// it; else the load waits until the stores are in the cache, for 9 ns.
[[gnu::always_inline]] inline void write_short_info(message_info& info, std::uint32_t origin) {
    static_assert(offsetof(message_info, data_bytes) == 8 && offsetof(message_info, data) == 16 &&
                  sizeof(message_info) == 32);
    store_pair(&info, origin, 0);
    store_pair(&info.data, 0, 0);  // an empty span
}

/// What a message has that is not in its slot.
/// @param arguments their first ones are there.
[[gnu::noinline]] void mail_room::add_rest(const ring_reader& reader, std::byte* arguments,
                                           incoming_message& message) const {
    const message_about& about = reader.next->about;
    const message_rest& rest = reader.ring->rest(reader.is_in_row, reader.ticket());
    if (about.argument_bytes > few_argument_bytes) {
        std::memcpy(arguments + few_argument_bytes, rest.arguments, sizeof rest.arguments);
    }
    if (about.place == data_place::nowhere) return;
    message.about.data = {data_of(rest, about.place), rest.data_bytes};
    message.about.data_bytes = rest.data_bytes;
}

/// @pre there is a message. Its slot is free for senders as soon as it has been copied; so a
/// handler that waits for room may serve replies meanwhile.
[[gnu::always_inline]] inline void mail_room::serve_ring_inline(detail::rank_context& server,
                                                                ring_reader& reader) {
    if (reader.back != nullptr) reader.back->expect_answer();
    int served = 0;
    do {
        const message_slot& slot = *reader.next;
        if (!reader.is_in_row) {
            __builtin_prefetch(&reader.ring->slots[(reader.ticket() + 2) % ring_slots]);
        }
        const message_about about = slot.about;
        alignas(16) std::byte arguments[most_argument_bytes];
        std::memcpy(arguments, slot.arguments, few_argument_bytes);
        alignas(16) incoming_message message;
        write_short_info(message.about, about.origin);
        message.kind = about.kind;
        message.handler = slot.handler;
        message.arguments = {arguments, about.argument_bytes};
        if (about.has_rest()) [[unlikely]]
            add_rest(reader, arguments, message);
        step_past(server, reader, about.next_in_row);
        deliver(server, about.target, message);
        if (about.tells_counts) learn_counts(about.origin, arguments + counts_offset);
        if (about.place == data_place::pool) [[unlikely]]
            give_back(server, reader, message);
    } while (++served < most_served && has_next(reader));
    if (office_.has_shares_) tell_consumed(server, reader);
}

[[gnu::noinline]] void mail_room::serve_ring(detail::rank_context& server, ring_reader& reader) {
    serve_ring_inline(server, reader);
}

/// To senders that may have only a few messages under way.
void mail_room::tell_consumed(detail::rank_context& server, const ring_reader& reader) {
    message_ring& ring = *reader.ring;
    const std::uint64_t head = ring_access::head(reader);
    if (ring_access::consumed(ring) != head) detail::word_store(server, ring.consumed, head);
}

/// Data in a pool of the sender have been read.
void mail_room::give_back(detail::rank_context& server, const ring_reader& reader,
                          const incoming_message& message) {
    mail_area& senders = *office_.box_of(message.about.origin).area;
    const bool is_reply = &reader <= &replies().back();
    give_back_payload(server, is_reply ? senders.reply_pool : senders.request_pool,
                      message.about.data.data());
}

const std::byte* mail_room::data_of(const message_rest& rest, data_place place) const {
    if (place == data_place::process) return reinterpret_cast<const std::byte*>(rest.data);
    return office_.mapping_.start() + rest.data;
}

void mail_room::deliver(detail::rank_context& server, std::uint32_t rank,
                        const incoming_message& message) {
    detail::rank_context& target = ranks_[rank - first_rank_];
    if (server.is_foreign_thread) [[unlikely]]
        return deliver_as_guest(server, message, target);
    const void* const plain_caller =
        std::exchange(target.own.plain_caller, &detail::no_plain_caller);
    const bool counts_alone = std::exchange(target.own.counts_alone, false);
    const bool was_in_handler = std::exchange(target.own.in_handler, true);
    detail::rank_context* const outer = std::exchange(detail::current_context, &target);
    office_.deliver_(target, message);
    detail::current_context = outer;
    target.own.in_handler = was_in_handler;
    target.own.counts_alone = counts_alone;
    target.own.plain_caller = plain_caller;
}

/// On a thread that has joined a rank: the rank's own may be using the rank's context.
void mail_room::deliver_as_guest(detail::rank_context& server, const incoming_message& message,
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
    return send_parked(parked_requests_) || has_replied;
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
