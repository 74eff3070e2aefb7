// SPDX-License-Identifier: Apache-2.0
#include "collectives/message_way.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <utility>

#include "machine/machine.hpp"

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
    if (may_lend && data.size() == 1 && lend(target, data.front())) return;
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
    const std::uint32_t sender = members_.world_rank(member);
    last_ = context_.inbox->take(context_, {name_, sender});
    if (last_.loan == 0) return {last_.data.data(), last_.bytes};
    std::span<std::byte> to(place, expected);
    if (place == nullptr || last_.bytes != expected) {
        read_.reserve(last_.bytes);
        to = {read_.data(), last_.bytes};
    }
    detail::rank_context& caller = *detail::current_context;
    caller.transport->read_loan(caller, sender, last_.loan, to);
    message_inbox::return_loan(sender);
    return to;
}

void inbox_way::end_step() {
    if (loans_.empty()) return;
    context_.inbox->await_loans(context_);
    loans_.clear();
}

}  // namespace selion::collectives
