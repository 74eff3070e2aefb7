// SPDX-License-Identifier: Apache-2.0
#include "collectives/message_way.hpp"

#include <fmt/format.h>

#include <cstring>

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

void inbox_way::send(std::uint32_t member, message_pieces data, bool /*may_lend*/) {
    message_inbox::send(members_.world_rank(member), name_, packed_.all_of(data));
}

std::span<const std::byte> inbox_way::receive(std::uint32_t member, std::size_t /*expected*/) {
    last_ = context_.inbox->take(context_, {name_, members_.world_rank(member)});
    return {last_.data.data(), last_.bytes};
}

}  // namespace selion::collectives
