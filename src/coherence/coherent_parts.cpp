// SPDX-License-Identifier: Apache-2.0
#include "coherence/coherent_parts.hpp"

#include <algorithm>
#include <cstring>

#include "onesided/message_state.hpp"

namespace selion::coherence {
namespace {

void check_uncached(detail::rank_context& caller, std::uint64_t bits, std::size_t bytes,
                    detail::access_purpose purpose, std::source_location site) {
    const coherent_parts& parts = *caller.messages->coherent;
    if (const coherent_part* const part = parts.find(bits & detail::offset_mask)) {
        part->expect_uncached(bits, bytes, purpose, site);
    }
}

}  // namespace

std::uint64_t coherent_parts::next_number() const {
    const auto free = std::ranges::find_if(parts_, [](const auto& one) { return !one; });
    return static_cast<std::uint64_t>(free - parts_.begin());
}

coherent_part& coherent_parts::make(detail::rank_context& context, const space_shape& shape) {
    ++made_;
    if (shape.number == parts_.size()) parts_.emplace_back();
    parts_[shape.number] = std::make_unique<coherent_part>(context, shape);
    context.messages->check_uncached = check_uncached;
    return *parts_[shape.number];
}

coherent_part* coherent_parts::find(std::uint64_t offset) const {
    for (const auto& part : parts_) {
        if (part == nullptr) continue;
        if (offset - part->shape().offset < part->shape().bytes) return part.get();
    }
    return nullptr;
}

coherent_parts& parts_of(detail::rank_context& context) {
    std::shared_ptr<coherent_parts>& kept = context.messages->coherent;
    if (kept == nullptr) kept = std::make_shared<coherent_parts>();
    return *kept;
}

void receive_block(detail::delivery& here) {
    message_head head;
    std::memcpy(&head, here.message.arguments.data(), sizeof head);
    const detail::rank_context& server = *detail::current_context;
    server.messages->coherent->at(head.space).receive(server, here.message);
}

}  // namespace selion::coherence
