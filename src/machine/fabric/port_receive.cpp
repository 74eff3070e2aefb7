// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "machine/call_record.hpp"
#include "machine/fabric/port.hpp"
#include "machine/node/element_atomic.hpp"
#include "meters/record/recorder.hpp"
#include "selion/counter.hpp"
#include "selion/detail/word_access.hpp"

/// What comes in: one frame after another, on one thread at a time.
namespace selion::machine::fabric {
namespace {

/// Messages to itself that one call of `serve` takes at most, so that a call that waits for
/// something looks whether it has come.
constexpr int most_served = 64;
/// Where the data of a message that comes in parts begin, behind its arguments.
constexpr std::size_t argument_bytes_room = detail::most_argument_bytes;
static_assert(argument_bytes_room % message_alignment == 0);

/// One word is a store, not a call.
void copy_short(std::byte* to, std::span<const std::byte> data) {
    if (data.size() == sizeof(std::uint64_t)) {
        std::memcpy(to, data.data(), sizeof(std::uint64_t));
    } else {
        std::memcpy(to, data.data(), data.size());
    }
}

/// Whether bytes lie as a message's function has its arguments and data.
bool is_aligned(std::span<const std::byte> bytes) {
    return bytes.empty() || reinterpret_cast<std::uintptr_t>(bytes.data()) % message_alignment == 0;
}

/// As its function has it.
incoming_message message_of(const frame_head& head, std::span<const std::byte> arguments,
                            std::span<const std::byte> data) {
    return {.about = {head.origin, data.size(), data},
            .kind = head.detail,
            .handler = head.operands[0],
            .arguments = arguments};
}

/// Whether nothing is left to do once the answer is made: the answer says so itself.
bool is_taken_by_answer(const frame_head& head) {
    if (head.is_batched()) return false;
    if (head.kind == frame_kind::get) return head.operands[1] == detail::null_address;
    return head.kind == frame_kind::atomic && head.operands[3] != no_ticket;
}

}  // namespace

bool port::serve(detail::rank_context& server) {
    // acquire: what handlers may use [rank.begun]
    if (std::atomic_ref(own_->call->has_begun).load(std::memory_order_acquire) == 0) return false;
    const bool has_waiting = waiting_count_.load(std::memory_order_relaxed) != 0;
    if (has_waiting) look_after_listed();
    bool has_served = false;
    // acquire and release: what the last one who served did is done [fabric.served]
    if (!serving_.test_and_set(std::memory_order_acquire)) {
        has_served = serve_all(server);
        serving_.clear(std::memory_order_release);  // [fabric.served]
    }
    if (has_trouble_.load(std::memory_order_relaxed)) [[unlikely]]
        check_trouble();
    return has_served;
}

bool port::serve_all(detail::rank_context& server) {
    endpoint_event event;
    bool has_served = false;
    // What one look at the provider has found: another look costs system calls, and what the
    // caller waits for may have come.
    for (bool is_there = around_.end.read(event); is_there;) {
        has_served = true;
        switch (event.what) {
            case endpoint_event::kind::received: receive(server, event.frame); break;
            case endpoint_event::kind::sent: {
                const std::lock_guard lock(mutex_);
                --links_[event.peer]->buffers;
                break;
            }
            case endpoint_event::kind::moved: end_move(server, event); break;
            case endpoint_event::kind::failed: note_failure(server, event);
        }
        is_there = around_.end.has_event() && around_.end.read(event);
    }
    if (own_count_.load(std::memory_order_relaxed) != 0) has_served |= serve_own_messages(server);
    if (waiting_count_.load(std::memory_order_relaxed) != 0 || is_stuck()) look_after_listed();
    if (has_served) detail::word_add(server, news_, 1);
    return has_served;
}

void port::receive(detail::rank_context& server, std::span<const std::byte> frame) {
    frame_head head;
    const frame_fault fault = read_frame(frame, around_.bounds, head);
    if (fault == frame_fault::foreign) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    if (fault != frame_fault::none) {
        const std::uint32_t from = fault == frame_fault::origin ? no_peer : head.origin;
        around_.end_job(from, fmt::format("a frame came with {}", name_of(fault)));
    }
    if (is_dead(head.origin)) return;
    turn its_turn = turn::now;
    bool is_taken = false;
    peer_link* sender = nullptr;
    {
        const std::lock_guard lock(mutex_);
        sender = &link_to(head.origin);
        peer_link& link = *sender;
        if (!link.hear(head)) {
            around_.end_job(head.origin, "an account came that names frames which were never sent");
        }
        if (has_given(link)) count_completions(server, link);
        if (head.is_counted()) its_turn = link.turn_of(head);
        if (!head.is_counted() && head.asks()) {
            link.hear_question(head);
            if (link.owes_account) look_after(head.origin, link);
        }
        // The usual case, with the lock taken once: a put calls nobody.
        if (its_turn == turn::now && head.kind == frame_kind::put && head.is_counted()) {
            take_put(server, head, frame.subspan(sizeof head));
            count_taken(server, link, head);
            is_taken = true;
        }
    }
    if (!head.is_counted()) return;
    class_account& account = sender->of(class_of(head));
    switch (its_turn) {
        case turn::over: repeated_.fetch_add(1, std::memory_order_relaxed); return;
        case turn::now: break;
        case turn::later: {
            const auto [place, is_new] = account.early.try_emplace(head.number);
            if (is_new) place->second.assign(frame.begin(), frame.end());
            (is_new ? early_count_ : repeated_).fetch_add(1, std::memory_order_relaxed);
            return;
        }
        case turn::never:
            around_.end_job(head.origin, fmt::format("frame {} came where frame {} was to come",
                                                     head.number, account.taken + 1));
    }
    if (!is_taken) {
        const std::span following = frame.subspan(sizeof head);
        if (head.kind == frame_kind::message) {
            take_message(server, head, following);
        } else {
            take(server, head, following);
        }
        if (account.is_pulling) return;  // it is taken when its data are there
        note_taken(server, *sender, head);
    }
    take_early(server, *sender, account);
    if (!head.is_reply()) take_early(server, *sender, sender->replies());
}

/// Frames that have overtaken the one that was just taken.
void port::take_overtaken(detail::rank_context& server, peer_link& link, class_account& account) {
    while (!account.early.empty()) {
        const auto found = account.early.find(account.taken + 1);
        if (found == account.early.end()) return;
        frame_head head;
        std::memcpy(&head, found->second.data(), sizeof head);
        if (link.turn_of(head) != turn::now) return;
        const auto next = account.early.extract(found);
        early_count_.fetch_sub(1, std::memory_order_relaxed);
        take(server, head, std::span<const std::byte>(next.mapped()).subspan(sizeof head));
        if (account.is_pulling) return;
        note_taken(server, link, head);
    }
}

/// What the peer has taken. @pre the lock is held.
void port::count_completions(detail::rank_context& server, peer_link& link) {
    auto& waiting = link.completions;
    while (!waiting.empty() && has_reached(link.requests().acked, waiting.front().first)) {
        detail::count_together(server, counter_access::word(*waiting.front().second));
        waiting.pop_front();
    }
    take_back_lent(link);
}

/// @pre the lock is held.
void port::count_taken(detail::rank_context& server, peer_link& link, const frame_head& head) {
    if (!is_taken_by_answer(head)) ++link.of(class_of(head)).taken;
    link.look_at_question();
    if (head.is_reply()) {
        link.believe();
        if (has_given(link)) count_completions(server, link);
    }
    if (head.asks()) link.owes_account = true;
    if (link.owes_account || link.is_far_behind()) look_after(head.origin, link);
}

/// What passes `read_frame` is within the job's bounds.
void port::take(detail::rank_context& server, const frame_head& head,
                std::span<const std::byte> following) {
    switch (head.kind) {
        case frame_kind::account: return;
        case frame_kind::put: return take_put(server, head, following);
        case frame_kind::get: return take_get(server, head);
        case frame_kind::atomic: return take_atomic(head);
        case frame_kind::message: return take_message(server, head, following);
        case frame_kind::message_part: return take_part(server, head, following);
        case frame_kind::lent_message: return take_lent(head, following);
        case frame_kind::batch: return take_batch(server, head, following);
        case frame_kind::get_answer:
            if (operations_.take_answer(server, head.operands[0], head.origin, following)) return;
            break;
        case frame_kind::atomic_answer:
            if (operations_.take_value(server, head.operands[0], head.origin, head.operands[1])) {
                return;
            }
            break;
    }
    around_.end_job(head.origin, "an answer came to what nobody has asked");
}

void port::raise(detail::rank_context& server, std::uint64_t signal, detail::signal_update update) {
    if (signal == detail::null_address) return;
    auto& word =
        *reinterpret_cast<detail::shared_word*>(around_.memory + (signal & detail::offset_mask));
    detail::raise_word(server, signal, word, update);
}

void port::take_put(detail::rank_context& server, const frame_head& head,
                    std::span<const std::byte> data) {
    if (!data.empty()) {
        std::memcpy(around_.memory + (head.operands[0] & detail::offset_mask), data.data(),
                    data.size());
    }
    raise(server, head.operands[1], head.update(head.operands[2]));
}

/// Never waits: what cannot leave now leaves later.
void port::reply(const frame_head& request, const outgoing_frame& frame) {
    const std::lock_guard lock(mutex_);
    if (is_taken_by_answer(request)) {
        peer_link& link = *links_[request.origin];
        // A batch says that the requests of all waiting replies are taken. Not of this one, if its
        // answer comes behind the batch.
        class_account& replies = link.replies();
        const bool joins =
            around_.batch_begun && may_be_batched(frame) && replies.batch.fits(frame);
        const bool has_left =
            joins || replies.batch.is_empty() ||
            (replies.queue.empty() && try_send_batch(request.origin, link, frame_class::reply));
        if (!has_left) queue_batch(replies, true);
        ++link.requests().taken;
    }
    post_or_queue(request.origin, frame, nullptr);
}

void port::take_get(detail::rank_context& server, const frame_head& head) {
    outgoing_frame answer;
    answer.head.kind = frame_kind::get_answer;
    answer.head.flags = is_reply_flag;
    answer.head.operands[0] = head.operands[2];
    answer.first = {around_.memory + (head.operands[0] & detail::offset_mask), head.operands[3]};
    reply(head, answer);
    raise(server, head.operands[1], {1, true});
}

void port::take_atomic(const frame_head& head) {
    const detail::atomic_request request = *decode_atomic(head);
    const std::uint64_t before =
        node::change_element(around_.memory + (request.target & detail::offset_mask), request);
    if (head.operands[3] == no_ticket) return;
    outgoing_frame answer;
    answer.head.kind = frame_kind::atomic_answer;
    answer.head.flags = is_reply_flag;
    answer.head.operands[0] = head.operands[3];
    answer.head.operands[1] = before;
    reply(head, answer);
}

void port::take_message(detail::rank_context& server, const frame_head& head,
                        std::span<const std::byte> following) {
    class_account& account = links_[head.origin]->of(class_of(head));
    if (account.is_in_message) {
        around_.end_job(head.origin, "a message began before the one before it was complete");
    }
    const std::span arguments = following.first(head.operands[2]);
    const std::span data = following.subspan(arguments.size());
    if (data.size() != head.operands[1]) return begin_message(account, head, following);
    if (is_aligned(arguments) && is_aligned(data)) [[likely]] {
        return deliver(server, message_of(head, arguments, data));
    }
    take_copy_of_message(server, head, following);
}

/// Of one that does not lie as its function needs it.
void port::take_copy_of_message(detail::rank_context& server, const frame_head& head,
                                std::span<const std::byte> following) {
    alignas(message_alignment) std::array<std::byte, argument_bytes_room + most_following> copy;
    const std::span arguments = std::span(copy).first(head.operands[2]);
    std::memcpy(arguments.data(), following.data(), arguments.size());
    const std::span data =
        std::span(copy).subspan(argument_bytes_room, following.size() - arguments.size());
    std::memcpy(data.data(), following.data() + arguments.size(), data.size());
    deliver(server, message_of(head, arguments, data));
}

/// Of one whose other parts follow.
void port::begin_message(class_account& account, const frame_head& head,
                         std::span<const std::byte> following) {
    const std::span arguments = following.first(head.operands[2]);
    const std::span data = following.subspan(arguments.size());
    account.is_in_message = true;
    account.message = head;
    account.message_data.resize(argument_bytes_room + head.operands[1]);
    std::memcpy(account.message_data.data(), arguments.data(), arguments.size());
    std::memcpy(account.message_data.data() + argument_bytes_room, data.data(), data.size());
    account.arrived_bytes = data.size();
}

void port::take_part(detail::rank_context& server, const frame_head& head,
                     std::span<const std::byte> following) {
    class_account& account = links_[head.origin]->of(class_of(head));
    const std::uint64_t whole = account.message.operands[1];
    if (!account.is_in_message || following.size() > whole - account.arrived_bytes) {
        around_.end_job(head.origin, "a part came that belongs to no message");
    }
    std::byte* const data = account.message_data.data() + argument_bytes_room;
    std::memcpy(data + account.arrived_bytes, following.data(), following.size());
    account.arrived_bytes += following.size();
    if (account.arrived_bytes != whole) return;
    account.is_in_message = false;
    const std::vector<std::byte> kept = std::exchange(account.message_data, {});
    deliver(server, {.about = {head.origin, whole, {kept.data() + argument_bytes_room, whole}},
                     .kind = account.message.detail,
                     .handler = account.message.operands[0],
                     .arguments = {kept.data(), account.message.operands[2]}});
}

/// Answers to it gather from the first one on, and leave when all that has come is done.
void port::take_batch(detail::rank_context& server, const frame_head& head,
                      std::span<const std::byte> following) {
    if (!head.is_reply()) {
        const std::lock_guard lock(mutex_);
        peer_link& link = *links_[head.origin];
        link.replies().gathers = true;
        look_after(head.origin, link);
    }
    const auto expect_none = [&](frame_fault fault) {
        if (fault == frame_fault::none) [[likely]]
            return;
        around_.end_job(head.origin,
                        fmt::format("a batch came with a frame with {}", name_of(fault)));
    };
    batch_reader batch(head, following);
    while (!batch.is_over()) {
        std::span<const std::byte> data;
        for (std::uint64_t target = 0; batch.next_put(target, data);) {
            if (data.empty()) continue;
            const bool is_own = around_.bounds.have(target, data.size());
            expect_none(is_own ? frame_fault::none : frame_fault::address);
            copy_short(around_.memory + (target & detail::offset_mask), data);
        }
        if (batch.is_over()) return;
        frame_head one;
        expect_none(batch.next(one, data));
        expect_none(check_frame(one, around_.bounds));
        take(server, one, data);
    }
}

bool port::serve_own_messages(detail::rank_context& server) {
    bool has_served = false;
    for (int i = 0; i < most_served && own_count_.load(std::memory_order_relaxed) != 0; ++i) {
        own_message next;
        {
            const std::lock_guard lock(mutex_);
            next = std::move(own_messages_.front());
            own_messages_.pop_front();
            own_count_.store(own_messages_.size(), std::memory_order_relaxed);
        }
        has_served = true;
        deliver(server, {.about = {around_.bounds.own_rank, next.data.size(), next.data},
                         .kind = next.kind,
                         .handler = next.handler,
                         .arguments = next.arguments});
    }
    return has_served;
}

/// In the rank's own context on its own thread, else in a copy: the rank may be using its own.
void port::deliver(detail::rank_context& server, incoming_message&& message) {
    detail::rank_context& target = *own_;
    if (server.is_foreign_thread) {
        detail::rank_context copy = target;
        copy.waiter = server.waiter;
        copy.is_foreign_thread = true;
        copy.recorder = nullptr;
        copy.own.in_handler = true;
        copy.own.signal_count = copy.bypass_count;
        detail::rank_context* const outer = std::exchange(detail::current_context, &copy);
        deliver_(copy, message);
        detail::current_context = outer;
        return;
    }
    detail::working_mode& mode = target.own;
    const detail::working_mode before = std::exchange(mode, detail::mode_of_handlers);
    detail::rank_context* const outer = std::exchange(detail::current_context, &target);
    deliver_(target, message);
    detail::current_context = outer;
    mode = before;
}

}  // namespace selion::machine::fabric
