// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule_runner.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "collectives/call_shape.hpp"
#include "machine/machine.hpp"
#include "selion/charge.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

}  // namespace

schedule_runner::schedule_runner(detail::rank_context& context, const team_members& members,
                                 const detail::block_call& call, const rank_schedule& schedule,
                                 message_way& way)
    : context_(context),
      members_(members),
      call_(call),
      schedule_(schedule),
      way_(way),
      cuts_vector_(cuts_vector(call.what)),
      source_(call.source) {}

std::size_t schedule_runner::start_in_vector(std::uint64_t block) const {
    if (!cuts_vector_) return block * call_.block_bytes();
    return call_.count * block / schedule_.blocks * call_.element_bytes;
}

/// Lengths differ where the call says so: of a block that one of its ends is this rank.
std::size_t schedule_runner::bytes_of(std::uint64_t block) const {
    const std::uint32_t ranks = members_.count();
    switch (call_.what) {
        case gather:
        case all_gather:
            return block == members_.own() ? call_.block_bytes() : call_.target_bytes(block);
        case scatter:
            return block == members_.own() ? call_.block_bytes() : call_.source_bytes(block);
        case exchange:
            return block / ranks == members_.own() ? call_.source_bytes(block % ranks)
                                                   : call_.target_bytes(block / ranks);
        default: return start_in_vector(block + 1) - start_in_vector(block);
    }
}

void schedule_runner::run() {
    prepare();
    for (const schedule_step& step : schedule_.steps) {
        send(step);
        receive(step);
    }
    finish();
}

void schedule_runner::prepare() {
    const std::size_t bytes = call_.block_bytes();
    const std::uint32_t rank = members_.own();
    if (reduces()) {
        const std::size_t all = cuts_vector_ ? bytes : schedule_.blocks * bytes;
        // In place where the result has its place for all that is given, and there is one.
        const bool has_result = call_.what != exscan || rank != 0;
        values_ = cuts_vector_ && has_result ? call_.target : nullptr;
        if (values_ == nullptr) {
            work_.reserve(all);
            values_ = work_.data();
        }
        if (all != 0 && values_ != call_.source) std::memcpy(values_, call_.source, all);
        return;
    }
    switch (call_.what) {
        case gather:
        case all_gather:
            if (call_.target != nullptr && bytes != 0) {
                std::memmove(call_.target + call_.target_start(rank), call_.source, bytes);
            }
            break;
        case scatter:
            if (call_.source != nullptr && bytes != 0) {
                std::memmove(call_.target, call_.source + call_.source_start(rank), bytes);
            }
            break;
        case exchange: prepare_exchange(); break;
        default: break;
    }
}

void schedule_runner::prepare_exchange() {
    const std::uint32_t rank = members_.own();
    if (call_.source == call_.target) {
        const std::size_t all = call_.source_start(members_.count());
        work_.reserve(all);
        if (all != 0) std::memcpy(work_.data(), call_.source, all);
        source_ = work_.data();
        return;
    }
    const std::size_t bytes = call_.source_bytes(rank);
    if (bytes == 0) return;
    std::memcpy(call_.target + call_.target_start(rank), call_.source + call_.source_start(rank),
                bytes);
}

void schedule_runner::finish() {
    const std::size_t bytes = call_.block_bytes();
    if (call_.what != reduce_scatter || bytes == 0) return;
    std::memcpy(call_.target, values_ + members_.own() * bytes, bytes);
}

void schedule_runner::send(const schedule_step& step) {
    const bool may_lend = !changes_what_it_sends(step);
    for (; sent_ < step.sends.size(); ++sent_) send(step.sends[sent_], may_lend);
}

void schedule_runner::receive(const schedule_step& step) {
    for (const schedule_message& message : step.receives) receive(message);
    way_.end_step();
    sent_ = 0;
}

/// Blocks that go out must go as they were when the step began.
bool schedule_runner::changes_what_it_sends(const schedule_step& step) {
    const auto overlap = [&](const block_range& a, const block_range& b) {
        const std::uint64_t ahead = (b.first + schedule_.blocks - a.first) % schedule_.blocks;
        return ahead < a.count || ahead + b.count > schedule_.blocks;
    };
    const auto meets_a_receive = [&](const block_range& sent) {
        for (const schedule_message& message : step.receives) {
            for (const block_range& range : message.blocks) {
                if (overlap(sent, range)) return true;
            }
        }
        return false;
    };
    for (const schedule_message& message : step.sends) {
        if (std::ranges::any_of(message.blocks, meets_a_receive)) return true;
    }
    return false;
}

/// Neighbouring blocks that lie side by side are one piece.
void schedule_runner::send(const schedule_message& message, bool may_lend) {
    pieces_.clear();
    for (const block_range& range : message.blocks) {
        for (std::uint64_t i = 0; i < range.count; ++i) {
            const std::uint64_t block = (range.first + i) % schedule_.blocks;
            const std::size_t bytes = bytes_of(block);
            if (bytes == 0) continue;
            const std::byte* const from = held(block);
            if (!pieces_.empty() && pieces_.back().data() + pieces_.back().size() == from) {
                pieces_.back() = {pieces_.back().data(), pieces_.back().size() + bytes};
            } else {
                pieces_.emplace_back(from, bytes);
            }
        }
    }
    way_.send(message.peer, pieces_, may_lend);
}

std::size_t schedule_runner::bytes_of(const schedule_message& message) const {
    std::size_t wanted = 0;
    for (const block_range& range : message.blocks) {
        for (std::uint64_t i = 0; i < range.count; ++i) {
            wanted += bytes_of((range.first + i) % schedule_.blocks);
        }
    }
    return wanted;
}

/// Where all that a message brings is to lie, side by side; else null.
std::byte* schedule_runner::place_of(const schedule_message& message) {
    if (message.action != block_action::store) return nullptr;
    std::byte* first = nullptr;
    std::byte* next = nullptr;
    for (const block_range& range : message.blocks) {
        for (std::uint64_t i = 0; i < range.count; ++i) {
            const std::uint64_t block = (range.first + i) % schedule_.blocks;
            const std::size_t bytes = bytes_of(block);
            if (bytes == 0) continue;
            std::byte* const place = place_for(block);
            if (first == nullptr) first = next = place;
            if (place != next) return nullptr;
            next += bytes;
        }
    }
    return first;
}

void schedule_runner::receive(const schedule_message& message) {
    const std::size_t wanted = bytes_of(message);
    std::byte* const place = place_of(message);
    const std::span<const std::byte> come = way_.receive(message.peer, wanted, place);
    expect_bytes(context_, call_.what, members_.world_rank(message.peer), {wanted, come.size()});
    if (come.data() == place) return;
    const std::byte* next = come.data();
    for (const block_range& range : message.blocks) {
        for (std::uint64_t i = 0; i < range.count; ++i) {
            const std::uint64_t block = (range.first + i) % schedule_.blocks;
            if (bytes_of(block) == 0) continue;
            take_in(message.action, block, next);
            next += bytes_of(block);
        }
    }
}

/// Elements of a reduction as their type may want them.
const std::byte* schedule_runner::aligned(const std::byte* come, std::size_t bytes) {
    constexpr std::size_t usual = alignof(std::max_align_t);
    const auto address = reinterpret_cast<std::uintptr_t>(come);
    if (address % detail::line_bytes == 0 || call_.element_bytes % (2 * usual) != 0) return come;
    aligned_.reserve(bytes);
    std::memcpy(aligned_.data(), come, bytes);
    return aligned_.data();
}

void schedule_runner::take_in(block_action action, std::uint64_t block, const std::byte* come) {
    std::byte* const own = place_for(block);
    if (action == block_action::store) {
        std::memcpy(own, come, bytes_of(block));
        return;
    }
    const detail::reduction& how = *call_.how;
    const std::size_t elements = elements_of(block);
    const std::byte* const other = aligned(come, bytes_of(block));
    if (action == block_action::combine_after) {
        how.combine(how.operation, own, own, other, elements);
    } else {
        how.combine(how.operation, own, other, own, elements);
    }
    charge(flops(elements));
}

/// Where a block lies that the rank gives, or has got.
const std::byte* schedule_runner::held(std::uint64_t block) {
    const bool gives = (call_.what == exchange && block / members_.count() == members_.own()) ||
                       (call_.what == scatter && members_.own() == call_.root);
    if (gives) return source_ + call_.source_start(block % members_.count());
    if (call_.what == gather && block == members_.own()) return call_.source;
    return place_for(block);
}

std::byte* schedule_runner::place_for(std::uint64_t block) {
    if (std::byte* const own = own_place(block)) return own;
    aligned_bytes& place = transit_[block];
    place.reserve(bytes_of(block));
    return place.data();
}

/// In the user's memory, or of a reduction; null: the block only passes through.
std::byte* schedule_runner::own_place(std::uint64_t block) {
    if (reduces()) return values_ + start_in_vector(block);
    switch (call_.what) {
        case broadcast: return call_.target + start_in_vector(block);
        case gather:
            return call_.target == nullptr ? nullptr : call_.target + call_.target_start(block);
        case all_gather: return call_.target + call_.target_start(block);
        case scatter: return block == members_.own() ? call_.target : nullptr;
        case exchange:
            return block % members_.count() == members_.own()
                       ? call_.target + call_.target_start(block / members_.count())
                       : nullptr;
        default: return nullptr;
    }
}

}  // namespace selion::collectives
