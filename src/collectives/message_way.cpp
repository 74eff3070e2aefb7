// SPDX-License-Identifier: Apache-2.0
#include "collectives/message_way.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <utility>

#include "machine/machine.hpp"
#include "onesided/waiting.hpp"

namespace selion::collectives {

std::size_t bytes_of(message_pieces data) {
    std::size_t bytes = 0;
    for (const auto& piece : data) bytes += piece.size();
    return bytes;
}

void copy_pieces(std::byte* to, message_pieces data) {
    for (const auto& piece : data) {
        if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
        to += piece.size();
    }
}

std::span<const std::byte> packed_pieces::all_of(message_pieces data) {
    if (data.size() == 1) return data.front();
    const std::size_t bytes = bytes_of(data);
    copy_.reserve(bytes);
    copy_pieces(copy_.data(), data);
    return {copy_.data(), bytes};
}

void expect_bytes(detail::rank_context& context, collective_kind what, std::uint32_t sender,
                  const expected_bytes& bytes) {
    if (bytes.wanted == bytes.come) return;
    context.host->launcher().end_job(
        context, fmt::format("the ranks disagree about the length of their {}: rank {} expects {} "
                             "bytes from rank {}, which has sent {}",
                             name_of(what), context.rank, bytes.wanted, sender, bytes.come));
}

void inbox_way::send(std::uint32_t member, message_pieces data, bool may_lend) {
    const std::uint32_t target = members_.world_rank(member);
    const bool is_stable = may_lend && how_ == long_data::lent;
    if (is_stable && data.size() == 1 && lend(target, data.front())) return;
    message_inbox::send(target, name_, packed_.all_of(data));
}

/// Where the collective may end before it is done, nothing of the caller's is lent.
bool inbox_way::lend(std::uint32_t target, std::span<const std::byte> data) {
    const detail::rank_context& caller = *detail::current_context;
    if (caller.own.deadline_ns != machine::no_deadline) return false;
    std::optional<machine::loan> made = context_.transport->lend(caller, target, data);
    if (!made) return false;
    loans_.push_back(std::move(made->offer));
    message_inbox::send_loan(target, name_, made->key, data.size());
    return true;
}

std::span<const std::byte> inbox_way::receive(std::uint32_t member, std::size_t expected,
                                              std::byte* place) {
    const message_name name{name_, members_.world_rank(member)};
    // What comes may depend on a lender who waits for what has been read.
    if (!context_.inbox->has(name)) finish_reading();
    last_ = context_.inbox->take(context_, name);
    if (last_.loan == 0) return {last_.data.data(), last_.bytes};
    if (last_.bytes != expected) return {place, last_.bytes};  // the job ends
    if (place != nullptr) {
        begin_reading(name.sender, last_.loan, {place, expected});
        return {place, expected};
    }
    read_.reserve(expected);
    begin_reading(name.sender, last_.loan, {read_.data(), expected});
    finish_reading();
    return {read_.data(), expected};
}

void inbox_way::begin_reading(std::uint32_t lender, std::uint64_t key, std::span<std::byte> to) {
    lenders_.reserve(lenders_.size() + 1);  // so that what is being read is known whatever happens
    detail::rank_context& caller = *detail::current_context;
    caller.transport->read_loan(caller, lender, key, to, reads_done_);
    ++reads_;
    lenders_.push_back(lender);
}

void inbox_way::finish_reading() {
    if (lenders_.empty()) return;
    detail::await_word(
        context_, {counter_access::word(reads_done_), reads_, machine::wait_reason::collective});
    for (; !lenders_.empty(); lenders_.pop_back()) message_inbox::return_loan(lenders_.back());
}

void inbox_way::end_reading() noexcept {
    if (lenders_.empty()) return;
    std::int64_t& deadline_ns = detail::current_context->own.deadline_ns;
    const std::int64_t before_ns = std::exchange(deadline_ns, machine::no_deadline);
    finish_reading();
    deadline_ns = before_ns;
}

void inbox_way::end_step() {
    finish_reading();
    if (loans_.empty()) return;
    context_.inbox->await_loans(context_);
    loans_.clear();
}

}  // namespace selion::collectives
