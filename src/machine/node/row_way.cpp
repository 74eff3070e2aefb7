// SPDX-License-Identifier: Apache-2.0
#include "machine/node/row_way.hpp"

#include <array>
#include <cstring>
#include <span>

#include "selion/detail/word_access.hpp"

/// Short messages to a rank that has a row for the sender: why they are written with few
/// instructions and fewer stores is told in messages.md.
namespace selion::machine::node {
namespace {

/// Who uses a row is the only sender.
constexpr ring_access only_sender{.has_one_sender = true, .uses_row = true};

}  // namespace

row_way::row_way(const message_way& way, std::uint32_t origin, std::uint32_t target)
    : message_way(way), ends_{origin, target} {
    send = &send_outside_row<false>;
    reply = &send_outside_row<true>;
}

void row_way::note_drawn(bool is_reply) {
    message_ring& ring = ring_for(is_reply);
    const bool in_row = ring.next_in_row;
    answer_ = &ring.slot(in_row, in_row ? ring.row_tail : ring.tail);
    if (is_reply) {
        reply = in_row ? &send_in_row<true> : &send_outside_row<true>;
    } else {
        send = in_row ? &send_in_row<false> : &send_outside_row<false>;
    }
}

[[gnu::always_inline]] inline void row_way::write(message_slot& slot, const drawn_ticket& drawn,
                                                  std::uint64_t handler, std::uint64_t first,
                                                  std::uint64_t second, std::uint64_t about) {
    about |= message_about::next_in_row_word(drawn.next_in_row);
    store_pair(slot.arguments, first, second);
    if (tell_counts(slot)) about |= message_about::tells_counts_word;
    slot.ends = ends_;
    store_pair(&slot.about, about, handler);
    ring_access::publish(slot, drawn.ticket);
}

template <bool is_reply>
void row_way::send_in_row(short_way& on, std::uint64_t handler, std::uint64_t first,
                          std::uint64_t second, std::uint64_t about, detail::rank_context& sender) {
    auto& way = static_cast<row_way&>(on);
    message_ring& ring = way.ring_for(is_reply);
    if (!ring_protocol::has_row_left(only_sender, ring, {}, ring.row_tail + 1)) [[unlikely]]
        return send_last_in_row<is_reply>(way, handler, first, second, about, sender);
    const drawn_ticket drawn = ring_protocol::draw_in_row(only_sender, ring, {});
    way.write(ring.row[drawn.ticket % row_slots], drawn, handler, first, second, about);
    way.answer_ = &ring.row[(drawn.ticket + 1) % row_slots];
    detail::mail_arrived(sender, *way.arrivals);
}

/// The one after it goes elsewhere.
template <bool is_reply>
[[gnu::noinline]] void row_way::send_last_in_row(row_way& way, std::uint64_t handler,
                                                 std::uint64_t first, std::uint64_t second,
                                                 std::uint64_t about,
                                                 detail::rank_context& sender) {
    message_ring& ring = way.ring_for(is_reply);
    const drawn_ticket drawn = ring_protocol::draw_in_row(only_sender, ring, {});
    way.write(ring.row[drawn.ticket % row_slots], drawn, handler, first, second, about);
    way.note_drawn(is_reply);
    detail::mail_arrived(sender, *way.arrivals);
}

template <bool is_reply>
void row_way::send_outside_row(short_way& on, std::uint64_t handler, std::uint64_t first,
                               std::uint64_t second, std::uint64_t about,
                               detail::rank_context& sender) {
    auto& way = static_cast<row_way&>(on);
    message_ring& ring = way.ring_for(is_reply);
    drawn_ticket drawn;
    if (!ring_protocol::draw_outside_row(only_sender, ring, {}, drawn)) [[unlikely]]
        return send_waiting<is_reply>(way, handler, first, second, about, sender);
    way.write(ring.slots[drawn.ticket % ring_slots], drawn, handler, first, second, about);
    // Not each time: whoever sends a row of messages is as quick as his stores are few.
    if (drawn.next_in_row) {
        way.note_drawn(is_reply);
    } else if (way.answer_ != nullptr) {
        way.answer_ = nullptr;
    }
    detail::mail_arrived(sender, *way.arrivals);
}

/// There is no room now.
template <bool is_reply>
[[gnu::noinline]] void row_way::send_waiting(row_way& way, std::uint64_t handler,
                                             std::uint64_t first, std::uint64_t second,
                                             std::uint64_t about, detail::rank_context& sender) {
    const std::array words{first, second};
    sender.transport->send(sender, {.target = way.ends_.target,
                                    .kind = static_cast<std::uint16_t>(about),
                                    .is_reply = is_reply,
                                    .handler = handler,
                                    .arguments = std::as_bytes(std::span(words)).first(about >> 16),
                                    .site = sender.own.send_site});
}

}  // namespace selion::machine::node
