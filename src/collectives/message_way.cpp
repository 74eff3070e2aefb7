// SPDX-License-Identifier: Apache-2.0
#include "collectives/message_way.hpp"

#include <cstring>

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

void inbox_way::send(std::uint32_t member, message_pieces data, bool /*may_lend*/) {
    packed_.resize(bytes_of(data));
    copy_pieces(packed_.data(), data);
    message_inbox::send(members_.world_rank(member), name_, packed_);
}

std::span<const std::byte> inbox_way::receive(std::uint32_t member, std::size_t /*expected*/) {
    last_ = context_.inbox->take(context_, {name_, members_.world_rank(member)});
    return {last_.data.data(), last_.bytes};
}

}  // namespace selion::collectives
