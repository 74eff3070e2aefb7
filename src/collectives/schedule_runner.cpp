// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule_runner.hpp"

#include <cstring>
#include <span>

#include "selion/charge.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

/// Up to so many bytes for each pair, an exchange takes few messages that carry others' blocks.
constexpr std::size_t short_block_bytes = 256;

}  // namespace

schedule_runner::schedule_runner(detail::rank_context& context, const detail::block_call& call,
                                 std::uint64_t collective)
    : context_(context),
      call_(call),
      collective_(collective),
      bytes_(call.block_bytes()),
      schedule_(choose()),
      source_(call.source) {}

/// Where the order of a sum is promised (selion/reduction.hpp), a tree of radix 2 keeps it.
rank_schedule schedule_runner::choose() const {
    schedule_request request{call_.what, schedule_algorithm::k_nomial, context_.ranks,
                             has_root(call_.what) ? call_.root : 0};
    switch (call_.what) {
        case scan:
        case exscan: request.algorithm = schedule_algorithm::binary; break;
        case all_gather: request.algorithm = schedule_algorithm::bruck; break;
        case exchange:
            request.algorithm = bytes_ <= short_block_bytes ? schedule_algorithm::bruck
                                                            : schedule_algorithm::pairwise;
            break;
        case reduce: request.root = 0; break;
        default: break;
    }
    rank_schedule own = make_schedule(request, context_.rank);
    if (call_.what == reduce && call_.root != 0) {
        // In order from rank 0 on, and then on to the root.
        if (context_.rank == 0) own.steps.push_back({{{call_.root, {{0, 1}}}}, {}});
        if (context_.rank == call_.root) own.steps.push_back({{}, {{0, {{0, 1}}}}});
    }
    return own;
}

void schedule_runner::run() {
    prepare();
    for (const schedule_step& step : schedule_.steps) run_step(step);
    finish();
}

void schedule_runner::prepare() {
    if (reduces()) {
        const std::size_t all = schedule_.blocks * bytes_;
        work_.reserve(all);
        if (all != 0) std::memcpy(work_.data(), call_.source, all);
        return;
    }
    if (bytes_ == 0) return;
    const std::size_t own = context_.rank * bytes_;
    switch (call_.what) {
        case gather:
        case all_gather:
            if (call_.target != nullptr) std::memmove(call_.target + own, call_.source, bytes_);
            break;
        case scatter:
            if (call_.source != nullptr && call_.target != call_.source + own) {
                std::memmove(call_.target, call_.source + own, bytes_);
            }
            break;
        case exchange:
            if (call_.source == call_.target) {
                work_.reserve(context_.ranks * bytes_);
                std::memcpy(work_.data(), call_.source, context_.ranks * bytes_);
                source_ = work_.data();
            } else {
                std::memcpy(call_.target + own, call_.source + own, bytes_);
            }
            break;
        default: break;
    }
}

void schedule_runner::finish() {
    if (!reduces() || call_.target == nullptr || bytes_ == 0) return;
    if (call_.what == exscan && context_.rank == 0) return;
    const std::size_t start = call_.what == reduce_scatter ? context_.rank * bytes_ : 0;
    std::memcpy(call_.target, work_.data() + start, bytes_);
}

void schedule_runner::run_step(const schedule_step& step) {
    for (const schedule_message& message : step.sends) send(message);
    for (const schedule_message& message : step.receives) receive(message);
}

/// Everything is packed before anything that comes is taken in.
void schedule_runner::send(const schedule_message& message) {
    packed_.clear();
    for (const block_range& range : message.blocks) {
        for (std::uint64_t i = 0; i < range.count; ++i) {
            const std::byte* const from = held((range.first + i) % schedule_.blocks);
            if (bytes_ != 0) packed_.insert(packed_.end(), from, from + bytes_);
        }
    }
    message_inbox::send(context_, message.peer, collective_, packed_);
}

void schedule_runner::receive(const schedule_message& message) {
    auto come = context_.inbox->take(context_, {collective_, message.peer});
    std::byte* next = come.data.data();
    for (const block_range& range : message.blocks) {
        for (std::uint64_t i = 0; i < range.count; ++i, next += bytes_) {
            take_in(message.action, (range.first + i) % schedule_.blocks, next);
        }
    }
}

void schedule_runner::take_in(block_action action, std::uint64_t block, std::byte* come) {
    if (bytes_ == 0) return;
    std::byte* const own = place_for(block);
    if (action == block_action::store) {
        std::memcpy(own, come, bytes_);
        return;
    }
    const detail::reduction& how = *call_.how;
    if (action == block_action::combine_after) {
        how.combine(how.operation, own, own, come, call_.count);
    } else {
        how.combine(how.operation, come, come, own, call_.count);
        std::memcpy(own, come, bytes_);
    }
    charge(flops(call_.count));
}

/// Where a block lies that the rank gives, or has got.
const std::byte* schedule_runner::held(std::uint64_t block) {
    const bool gives = (call_.what == exchange && block / context_.ranks == context_.rank) ||
                       (call_.what == scatter && context_.rank == call_.root);
    if (gives) return source_ + block % context_.ranks * bytes_;
    if (call_.what == gather && block == context_.rank) return call_.source;
    return place_for(block);
}

std::byte* schedule_runner::place_for(std::uint64_t block) {
    if (std::byte* const own = own_place(block)) return own;
    aligned_bytes& place = transit_[block];
    place.reserve(bytes_);
    return place.data();
}

/// In the user's memory, or of a reduction; null: the block only passes through.
std::byte* schedule_runner::own_place(std::uint64_t block) {
    if (reduces()) return work_.data() + block * bytes_;
    switch (call_.what) {
        case gather: return call_.target == nullptr ? nullptr : call_.target + block * bytes_;
        case all_gather: return call_.target + block * bytes_;
        case scatter: return block == context_.rank ? call_.target : nullptr;
        case exchange:
            return block % context_.ranks == context_.rank
                       ? call_.target + block / context_.ranks * bytes_
                       : nullptr;
        default: return nullptr;
    }
}

}  // namespace selion::collectives
