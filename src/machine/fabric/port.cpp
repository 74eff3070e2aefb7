// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "machine/call_record.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/detail/word_access.hpp"
#include "selion/error.hpp"

namespace selion::machine::fabric {
namespace {

/// Messages of the rank to itself that a call may leave for the next poll.
constexpr std::size_t most_own_messages = 64;

std::span<const std::byte> data_of(const message_request& request) {
    return {static_cast<const std::byte*>(request.data), request.bytes};
}

/// The first frame of a message, or all of it.
outgoing_frame first_frame(const message_request& request) {
    const std::size_t most = most_following - request.arguments.size();
    return {.head = message_head(frame_kind::message, request),
            .first = request.arguments,
            .second = data_of(request).first(std::min(request.bytes, most))};
}

}  // namespace

frame_head message_head(frame_kind kind, const message_request& request) {
    frame_head head;
    head.kind = kind;
    head.flags = request.is_reply ? is_reply_flag : std::uint8_t{0};
    head.detail = request.kind;
    head.operands[0] = request.handler;
    head.operands[1] = request.bytes;
    head.operands[2] = request.arguments.size();
    return head;
}

port::port(const port_surroundings& around)
    : around_(around),
      links_(around.bounds.ranks),
      lent_(&around.end, 2 * around.bounds.most_message_bytes),
      landings_(nullptr, 2 * around.bounds.most_message_bytes) {
    operations_.heed(around.deaths);
}

void port::open(detail::rank_context& own,
                void (*function)(detail::rank_context&, incoming_message&)) {
    own_ = &own;
    deliver_ = function;
}

/// @pre the lock is held.
void port::make_link(std::uint32_t peer) {
    auto made = std::make_unique<peer_link>();
    const peer_place place = around_.place_of(peer);
    made->address = place.address;
    made->key = place.key;
    links_[peer] = std::move(made);
    known_.push_back(peer);
}

/// The provider has not taken something for a peer: it is busy, or says why it never will. The
/// first such peer is told of. @pre the lock is held.
void port::note_refusal(std::uint32_t peer, const std::string& why) {
    is_stuck_.store(true, std::memory_order_relaxed);
    if (why.empty() || !trouble_.empty()) return;
    trouble_ = why;
    trouble_with_ = peer;
    has_trouble_.store(true, std::memory_order_relaxed);
}

/// Ends the job if the provider has refused something for good.
void port::check_trouble() {
    if (!has_trouble_.load(std::memory_order_relaxed)) return;
    std::string what;
    std::uint32_t peer = no_peer;
    {
        const std::lock_guard lock(mutex_);
        if (trouble_.empty() || is_leaving_) return;
        what = trouble_;
        peer = trouble_with_;
        if (around_.deaths != nullptr) {
            trouble_.clear();
            has_trouble_.store(false, std::memory_order_relaxed);
        }
    }
    if (around_.deaths != nullptr && peer != no_peer) return around_.lose(peer, what);
    around_.end_job(peer, what);
}

void port::post(detail::rank_context& context, std::uint32_t peer, const outgoing_frame& frame,
                counter* completion) {
    bool is_posted = false;
    const auto attempt = [&] {
        if (is_dead(peer)) return true;
        peer_link& link = link_to(peer);
        is_posted = try_post(peer, link, frame, completion, true);
        return is_posted;
    };
    bool is_over = false;
    {
        const std::lock_guard lock(mutex_);
        if (is_in_handler() && !is_dead(peer)) {
            post_or_queue(peer, frame, completion);
            return;
        }
        is_over = attempt();
    }
    if (!is_over) {
        const send_scope scope(*detail::current_context, {});
        wait_to(context, attempt, deadline_of_collective());
    }
    if (!is_posted) lose_frame(context, peer, frame.head, completion);
}

// With all that it calls in one piece: between two frames of a conversation the code comes from
// afar.
[[gnu::flatten]] bool port::post_at_once(const message_request& request) {
    if (request.arguments.size() + request.bytes > most_batched) return false;
    const std::lock_guard lock(mutex_);
    peer_link* const link = links_[request.target].get();
    if (link == nullptr || around_.deaths != nullptr || link->has_waiting()) return false;
    class_account& account = link->of(request.is_reply ? frame_class::reply : frame_class::request);
    if (account.gathers) return false;
    const outgoing_frame frame = first_frame(request);
    if (!try_send(request.target, *link, frame, needs_of(frame), {})) return false;
    gather_after(request.target, *link, account);
    note(meters::sent_kind::message, request.bytes);
    return true;
}

/// What a message has beyond its first frame. @pre the lock is held since that one was posted: no
/// other frame of the class comes between.
void port::post_parts(std::uint32_t peer, const message_request& request, std::size_t begun_bytes) {
    for (std::span<const std::byte> rest = data_of(request).subspan(begun_bytes); !rest.empty();) {
        outgoing_frame part;
        part.head.kind = frame_kind::message_part;
        part.head.flags = request.is_reply ? is_reply_flag : std::uint8_t{0};
        part.first = rest.first(std::min(rest.size(), most_following));
        rest = rest.subspan(part.first.size());
        post_or_queue(peer, part, nullptr);
    }
}

void port::post_message(detail::rank_context& context, const message_request& request) {
    if (request.target == around_.bounds.own_rank) return post_to_self(context, request);
    if (may_lend(request) && post_lent(context, request)) return;
    const outgoing_frame frame = first_frame(request);
    const auto attempt = [&] {
        if (is_dead(request.target)) return true;
        peer_link& link = link_to(request.target);
        if (!try_post(request.target, link, frame, nullptr, true)) return false;
        post_parts(request.target, request, frame.second.size());
        return true;
    };
    {
        const std::lock_guard lock(mutex_);
        if (is_in_handler()) {
            post_or_queue(request.target, frame, nullptr);
            return post_parts(request.target, request, frame.second.size());
        }
        if (attempt()) return expect_alive(context, request.target);
    }
    const send_scope scope(*detail::current_context, request.site);
    wait_to(context, attempt, deadline_of_collective());
    expect_alive(context, request.target);
}

void port::post_to_self(detail::rank_context& context, const message_request& request) {
    const auto attempt = [&] {
        if (!is_in_handler() && own_messages_.size() >= most_own_messages) return false;
        const std::span<const std::byte> data = data_of(request);
        own_messages_.push_back({request.kind,
                                 request.handler,
                                 {request.arguments.begin(), request.arguments.end()},
                                 {data.begin(), data.end()}});
        own_count_.store(own_messages_.size(), std::memory_order_relaxed);
        return true;
    };
    wait_to(context, attempt, deadline_of_collective());
    detail::word_add(context, news_, 1);
    if (around_.own_message) around_.own_message();
}

/// @pre the lock is held.
void port::send_account(std::uint32_t peer, peer_link& link) {
    if (link.buffers + link.open_batches() >= most_buffers) return;
    outgoing_frame account;
    account.head.secret = around_.bounds.secret;
    account.head.origin = around_.bounds.own_rank;
    if (link.wants_account) {
        account.head.flags = asks_flag;
        account.head.number = link.requests().sent;
    }
    link.tell(account.head);
    std::string why;
    if (around_.end.try_send(link.address, peer, account, why) == send_outcome::busy) {
        return note_refusal(peer, why);
    }
    ++link.buffers;
    link.wants_account = false;
    link.note_told(account.head);
}

/// @pre the lock is held.
void port::look_after(std::uint32_t peer, peer_link& link) {
    if (std::exchange(link.is_listed, true)) return;
    listed_.push_back(peer);
    waiting_count_.store(listed_.size(), std::memory_order_relaxed);
}

/// What could not leave may be able to now.
void port::look_after_listed() {
    const std::lock_guard lock(mutex_);
    is_stuck_.store(false, std::memory_order_relaxed);
    std::erase_if(listed_, [&](std::uint32_t peer) {
        peer_link& link = *links_[peer];
        if (is_dead(peer)) return !(link.is_listed = false);
        flush(peer, link);
        for (class_account& account : link.classes) begin_pull(peer, link, account);
        if (link.can_tell_more() || link.wants_account) send_account(peer, link);
        link.is_listed = link.has_waiting() || link.owes_account || link.wants_account ||
                         link.is_far_behind() || link.has_unbegun_pull();
        return !link.is_listed;
    });
    waiting_count_.store(listed_.size(), std::memory_order_relaxed);
}

/// Takes off what has been reached, and asks the others once everything has left that they are
/// asked about. @pre the lock is held.
void port::ask_for_accounts(std::vector<quiet_goal>& goals) {
    std::erase_if(goals, [&](quiet_goal& goal) {
        if (is_dead(goal.peer)) return true;
        peer_link& link = *links_[goal.peer];
        if (link.has_waiting()) {
            link.requests().batch.ask();
            flush(goal.peer, link);
        }
        const auto is_reached = [&](std::uint32_t class_account::*number) {
            return has_reached(link.requests().*number, goal.requests) &&
                   has_reached(link.replies().*number, goal.replies);
        };
        if (is_reached(&class_account::acked)) return !goal.with_reads || link.reads == 0;
        const bool is_asked = goal.has_asked || is_reached(&class_account::asking);
        if (is_asked || !is_reached(&class_account::sent)) return false;
        goal.has_asked = true;
        // A single request and a quiet after it: likely the same again.
        link.asks_at_once = link.requests().sent - link.requests().acked == 1;
        link.wants_account = true;
        send_account(goal.peer, link);
        if (link.wants_account) look_after(goal.peer, link);
        return false;
    });
}

/// @pre the lock is held.
void port::add_goal(std::uint32_t peer, std::vector<quiet_goal>& goals) {
    if (links_[peer] == nullptr) return;
    peer_link& link = *links_[peer];
    if (std::exchange(link.has_guessed, false)) link.asks_at_once = true;
    if (link.is_quiet()) return;
    goals.push_back({peer, link.requests().goal(), link.replies().goal(), true});
}

void port::await_goals(detail::rank_context& context, std::vector<quiet_goal>& goals,
                       std::int64_t until) {
    if (goals.empty()) return;
    const auto attempt = [&] {
        ask_for_accounts(goals);
        return goals.empty();
    };
    wait_to(context, attempt, until);
}

std::int64_t port::deadline_of_collective() { return detail::current_context->own.deadline_ns; }

void port::throw_late(const detail::rank_context& context) {
    throw error(status::timed_out,
                fmt::format("rank {} has waited too long for others to take what it has sent, in a "
                            "collective that was to end within {:g} s",
                            context.rank,
                            static_cast<double>(detail::current_context->own.timeout_ns) / 1e9),
                {.rank = context.rank, .operation = "send"});
}

void port::quiet(detail::rank_context& context, std::uint32_t peer) {
    std::vector<quiet_goal> goals;
    {
        const std::lock_guard lock(mutex_);
        add_goal(peer, goals);
    }
    await_goals(context, goals, deadline_of_collective());
}

void port::quiet(detail::rank_context& context) {
    std::vector<quiet_goal> goals;
    {
        const std::lock_guard lock(mutex_);
        for (const std::uint32_t peer : known_) add_goal(peer, goals);
    }
    await_goals(context, goals, deadline_of_collective());
}

std::vector<std::uint32_t> port::debtors() {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint32_t> found;
    for (const std::uint32_t peer : known_) {
        if (!is_dead(peer) && links_[peer]->is_owed()) found.push_back(peer);
    }
    return found;
}

bool port::has_mail() {
    return is_served() || own_count_.load(std::memory_order_relaxed) != 0 ||
           waiting_count_.load(std::memory_order_relaxed) != 0;
}

bool port::may_sleep() {
    if (own_count_.load(std::memory_order_relaxed) != 0) return false;
    // As in `serve` [fabric.served]
    if (serving_.test_and_set(std::memory_order_acquire)) return false;
    const bool may = around_.end.may_sleep();
    serving_.clear(std::memory_order_release);  // [fabric.served]
    return may;
}

}  // namespace selion::machine::fabric
