// SPDX-License-Identifier: Apache-2.0
#include "coherence/coherent_parts.hpp"

#include <algorithm>
#include <cstring>

#include "onesided/message_state.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::coherence {
namespace {

/// Only the rank's own thread knows what it keeps: accesses of others are not looked at.
void check_uncached(detail::rank_context& caller, std::uint64_t bits, std::size_t bytes,
                    detail::access_purpose purpose, std::source_location site) {
    if (caller.is_foreign_thread) return;
    const coherent_parts& parts = *caller.messages->coherent;
    if (const coherent_part* const part = parts.find(bits & detail::offset_mask)) {
        part->expect_uncached(bits, bytes, purpose, site);
    }
}

void call_to_mail(detail::rank_context& caller, std::uint32_t rank) {
    caller.messages->coherent->call_for_attention(caller, rank);
}

/// Who has it looks at the list of views, or changes it; the others wait for these few steps.
class turn {
public:
    explicit turn(std::atomic_flag& taken) : taken_(taken) {
        // acquire and release: what the last one did is done [mail.views]
        while (taken_.test_and_set(std::memory_order_acquire)) detail::pause_processor();
    }
    ~turn() { taken_.clear(std::memory_order_release); }  // [mail.views]
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

private:
    std::atomic_flag& taken_;
};

void end_traces(detail::rank_context& context) { context.messages->coherent->finish_traces(); }

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
    context.messages->at_end = end_traces;
    {
        const turn own(is_looked_at_);
        views_.push_back(shape.view_offset);
    }
    // release: there are parts now, and this is among them [mail.call]
    context.messages->call_to_mail.store(call_to_mail, std::memory_order_release);
    return *parts_[shape.number];
}

void coherent_parts::remove(std::uint64_t number) {
    {
        const turn own(is_looked_at_);
        std::erase(views_, parts_[number]->shape().view_offset);
    }
    parts_[number].reset();
}

void coherent_parts::finish_traces() {
    for (const auto& part : parts_) {
        if (part != nullptr) part->finish_trace();
    }
}

void coherent_parts::call_for_attention(detail::rank_context& caller, std::uint32_t rank) const {
    const turn own(is_looked_at_);
    for (const std::uint64_t view : views_) call_rank(caller, rank, view);
}

coherent_part* coherent_parts::find(std::uint64_t offset) const {
    for (const auto& part : parts_) {
        if (part == nullptr) continue;
        if (offset - part->shape().offset < part->shape().bytes) return part.get();
    }
    return nullptr;
}

bool coherent_parts::has(const detail::block_view* view) const {
    return std::ranges::any_of(
        parts_, [&](const auto& part) { return part != nullptr && part->view() == view; });
}

coherent_parts& parts_of(detail::rank_context& context) {
    std::shared_ptr<coherent_parts>& kept = context.messages->coherent;
    if (kept == nullptr) kept = std::make_shared<coherent_parts>();
    return *kept;
}

void receive_block(detail::incoming_message& here) {
    message_head head;
    std::memcpy(&head, here.arguments.data(), sizeof head);
    // By the rank's own view, because the list of parts may be growing on another thread.
    const detail::rank_context& server = *detail::current_context;
    const std::uint64_t place = detail::global_address(server.rank, head.view());
    const auto* view = reinterpret_cast<detail::block_view*>(mapped_address(server, place));
    view->part->receive(server, here);
}

}  // namespace selion::coherence
