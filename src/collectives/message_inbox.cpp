// SPDX-License-Identifier: Apache-2.0
#include "collectives/message_inbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "machine/call_record.hpp"
#include "machine/death_list.hpp"
#include "onesided/message_state.hpp"
#include "onesided/waiting.hpp"
#include "selion/counter.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::collectives {
namespace {

/// Parts that the memory for messages holds at a time, so that one is filled while another is read.
constexpr std::uint64_t parts_under_way = 4;

/// Where ranks do not meet at the end.
[[noreturn, gnu::noinline]] void end_for_absence(detail::rank_context& context,
                                                 std::uint32_t origin) {
    context.host->launcher().end_job(
        context, fmt::format("rank {} has sent a message of a collective to rank {}, whose "
                             "function has returned without taking part in it",
                             origin, context.rank));
    std::abort();
}

}  // namespace

message_inbox::~message_inbox() {
    // acquire: what was added [inbox.added]
    for (part* one = added_.load(std::memory_order_acquire); one != nullptr;) {
        delete std::exchange(one, one->next);
    }
}

void message_inbox::send(std::uint32_t target, const collective_name& collective,
                         std::span<const std::byte> data) {
    std::size_t sent_bytes = 0;
    send_parts(target, {collective, data.size(), 0, {}}, offsetof(part_header, call), data,
               &message_inbox::receive, sent_bytes);
}

void message_inbox::send(std::uint32_t target, const collective_name& collective,
                         std::span<const std::byte> data, const call_signature& call,
                         detail::message_function handler, std::size_t& sent_bytes) {
    send_parts(target, {collective, data.size(), 0, call}, sizeof(part_header), data, handler,
               sent_bytes);
}

void message_inbox::send_parts(std::uint32_t target, part_header header, std::size_t header_bytes,
                               std::span<const std::byte> data, detail::message_function handler,
                               std::size_t& sent_bytes) {
    // A thread that has joined the rank sends and waits in a way of its own.
    detail::rank_context& context = *detail::current_context;
    const std::uint64_t most =
        std::max<std::uint64_t>(context.transport->most_message_bytes() / parts_under_way, 1);
    do {
        header.part_start = sent_bytes;
        const std::span now =
            data.subspan(sent_bytes, std::min<std::size_t>(data.size() - sent_bytes, most));
        context.transport->send(
            context, {.target = target,
                      .kind = 0,
                      .handler = detail::encode_function(handler),
                      .arguments = std::as_bytes(std::span(&header, 1)).first(header_bytes),
                      .data = now.data(),
                      .bytes = now.size(),
                      .site = machine::decode_site(header.call.site)});
        sent_bytes += now.size();
    } while (sent_bytes < data.size());
}

void message_inbox::send_loan(std::uint32_t target, const collective_name& collective,
                              std::uint64_t key, std::size_t bytes) {
    const loan_header header{collective, bytes, key};
    detail::rank_context& context = *detail::current_context;
    const std::span bytes_of_header = std::as_bytes(std::span(&header, 1));
    context.transport->send_plain(context, target,
                                  detail::encode_function(&message_inbox::receive_loan),
                                  bytes_of_header.data(), bytes_of_header.size());
    ++context.inbox->lent_;
}

void message_inbox::return_loan(std::uint32_t lender) {
    detail::rank_context& context = *detail::current_context;
    context.transport->send_plain(
        context, lender, detail::encode_function(&message_inbox::receive_return), nullptr, 0);
}

void message_inbox::await_loans(detail::rank_context& context) {
    detail::await_word(context, {returned_, lent_, machine::wait_reason::collective});
}

/// The inbox of the rank that a handler runs for.
message_inbox& message_inbox::of_handler(std::uint32_t origin) {
    detail::rank_context& context = *detail::current_context;
    if (context.inbox == nullptr) [[unlikely]]
        end_for_absence(context, origin);
    context.messages->leave_out_of_handled();
    return *context.inbox;
}

/// Handlers.
void message_inbox::receive(detail::incoming_message& here) {
    message_inbox& inbox = of_handler(here.about.origin);
    inbox.add(here);
    detail::count_together(*detail::current_context, inbox.arrived_);
}

void message_inbox::receive_loan(detail::incoming_message& here) {
    message_inbox& inbox = of_handler(here.about.origin);
    loan_header header{};
    std::memcpy(&header, here.arguments.data(), sizeof header);
    inbox.add(*new part{.name = {header.collective, here.about.origin},
                        .message_bytes = header.message_bytes,
                        .start = 0,
                        .bytes = header.message_bytes,
                        .data = {},
                        .call = {},
                        .loan = header.key});
    detail::count_together(*detail::current_context, inbox.arrived_);
}

void message_inbox::receive_return(detail::incoming_message& here) {
    message_inbox& inbox = of_handler(here.about.origin);
    detail::count_together(*detail::current_context, inbox.returned_);
}

void message_inbox::add(const detail::incoming_message& from) {
    part_header header{};
    std::memcpy(&header, from.arguments.data(), std::min(from.arguments.size(), sizeof header));
    auto* const come = new part{.name = {header.collective, from.about.origin},
                                .message_bytes = header.message_bytes,
                                .start = header.part_start,
                                .bytes = from.about.data_bytes,
                                .data = aligned_bytes(from.about.data_bytes),
                                .call = header.call};
    if (come->bytes != 0) std::memcpy(come->data.data(), from.about.data.data(), come->bytes);
    note_call(*detail::current_context, *come);
    add(*come);
}

void message_inbox::add(part& come) {
    come.next = added_.load(std::memory_order_relaxed);
    // release: the part, for who takes the list [inbox.added]
    while (!added_.compare_exchange_weak(come.next, &come, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
}

void message_inbox::note_call(detail::rank_context& context, const part& come) {
    const std::uint64_t name = come.name.collective.team;
    if (context.deaths == nullptr || (name & is_roll_call) == 0) return;
    context.deaths->note_call(come.name.sender, name);
    detail::word_add(context, context.deaths->calls(), 1);
}

/// Each part that handlers have added, the first one first.
template <class Each>
void message_inbox::take_added(const Each& each) {
    // acquire: what was added [inbox.added]
    part* last = added_.exchange(nullptr, std::memory_order_acquire);
    part* first = nullptr;
    while (last != nullptr) {
        part* const one = std::exchange(last, last->next);
        one->next = std::exchange(first, one);
    }
    while (first != nullptr) {
        part* const one = std::exchange(first, first->next);
        each(*one);
        ++sorted_;
        delete one;
    }
}

void message_inbox::sort_in() {
    take_added([this](part& one) { add_to_messages(one); });
}

void message_inbox::sort_in(std::vector<collective_name>& come) {
    take_added([&](part& one) {
        if (come.empty() || come.back() != one.name.collective) {
            come.push_back(one.name.collective);
        }
        add_to_messages(one);
    });
}

void message_inbox::add_to_messages(part& come) {
    std::deque<message>& same = messages_[come.name];
    if (come.bytes == come.message_bytes) {
        same.push_back({come.bytes, come.bytes, std::move(come.data), come.call, come.loan});
        return;
    }
    if (come.start == 0) {
        same.push_back({come.message_bytes, 0, aligned_bytes(come.message_bytes), come.call});
    }
    if (same.empty()) {  // the rest of one that has been thrown away
        messages_.erase(come.name);
        return;
    }
    message& whole = same.back();
    if (come.bytes != 0) std::memcpy(whole.data.data() + come.start, come.data.data(), come.bytes);
    whole.arrived += come.bytes;
}

std::size_t message_inbox::complete(const message_name& name) const {
    const auto found = messages_.find(name);
    if (found == messages_.end()) return 0;
    const auto unfinished = std::ranges::find(found->second, false, &message::is_complete);
    return static_cast<std::size_t>(unfinished - found->second.begin());
}

std::vector<message_inbox::come_message> message_inbox::next_of(const collective_name& name) const {
    std::vector<come_message> all;
    for (auto one = messages_.lower_bound({name, 0});
         one != messages_.end() && one->first.collective == name; ++one) {
        all.push_back({one->first.sender, one->second.front().call});
    }
    return all;
}

void message_inbox::drop(const collective_name& name) {
    messages_.erase(messages_.lower_bound({name, 0}), messages_.upper_bound({name, UINT32_MAX}));
}

void message_inbox::drop_team(std::uint64_t team) {
    sort_in();
    std::erase_if(messages_, [&](const auto& one) { return one.first.collective.team == team; });
}

std::vector<collective_name> message_inbox::names() const {
    std::vector<collective_name> all;
    for (const auto& [name, messages] : messages_) {
        if (all.empty() || all.back() != name.collective) all.push_back(name.collective);
    }
    return all;
}

message_inbox::message message_inbox::pop(const message_name& name) {
    const auto found = messages_.find(name);
    message taken = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) messages_.erase(found);
    return taken;
}

message_inbox::message message_inbox::take(detail::rank_context& context,
                                           const message_name& name) {
    while (true) {
        sort_in();
        if (complete(name) != 0) return pop(name);
        detail::await_word(context, {arrived_, sorted_ + 1, machine::wait_reason::collective});
    }
}

std::optional<message_inbox::message> message_inbox::take_unless(
    const message_name& name, const std::function<bool()>& is_vain, detail::shared_word& changes) {
    while (true) {
        const machine::awaited_word change{&changes, detail::word_load(changes) + 1};
        if (is_vain()) return std::nullopt;
        sort_in();
        if (complete(name) != 0) return pop(name);
        detail::await(*detail::current_context, {.word = arrived_,
                                                 .at_least = sorted_ + 1,
                                                 .reason = machine::wait_reason::message,
                                                 .others = {&change, 1}});
    }
}

}  // namespace selion::collectives
