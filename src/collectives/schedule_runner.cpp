// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule_runner.hpp"

#include <fmt/format.h>

#include <cstring>
#include <span>

#include "machine/machine.hpp"
#include "selion/charge.hpp"

namespace selion::collectives {
namespace {

using enum collective_kind;

/// Up to so many bytes for each pair, an exchange takes few messages that carry others' blocks.
constexpr std::size_t short_block_bytes = 256;

bool cuts_vector(collective_kind what) {
    return what == broadcast || what == reduce || what == all_reduce || what == scan ||
           what == exscan;
}

}  // namespace

schedule_runner::schedule_runner(detail::rank_context& context, const team_members& members,
                                 const detail::block_call& call, std::uint64_t collective)
    : context_(context),
      members_(members),
      call_(call),
      collective_(collective),
      schedule_(make(choose())),
      cuts_vector_(cuts_vector(call.what)),
      source_(call.source) {}

/// Where the order of a sum is promised (selion/reduction.hpp), a tree of radix 2 keeps it.
schedule_request schedule_runner::choose() const {
    schedule_request request;
    if (call_.chosen != nullptr) request = *call_.chosen;
    request.collective = call_.what;
    request.ranks = members_.count();
    request.root = has_root(call_.what) ? call_.root : 0;
    if (call_.chosen != nullptr) return request;
    if (call_.most != 0) {
        // Only the two ends of a block know how long it is.
        request.algorithm =
            has_root(call_.what) ? schedule_algorithm::flat : schedule_algorithm::pairwise;
        return request;
    }
    request.algorithm = schedule_algorithm::k_nomial;
    switch (call_.what) {
        case scan:
        case exscan: request.algorithm = schedule_algorithm::binary; break;
        case all_gather: request.algorithm = schedule_algorithm::bruck; break;
        case exchange:
            request.algorithm = call_.block_bytes() <= short_block_bytes
                                    ? schedule_algorithm::bruck
                                    : schedule_algorithm::pairwise;
            break;
        case reduce: request.root = 0; break;
        default: break;
    }
    return request;
}

rank_schedule schedule_runner::make(const schedule_request& request) const {
    rank_schedule own = make_schedule(request, members_.own());
    if (call_.what == reduce && call_.root != request.root) {
        // In order from rank 0 on, and then on to the root.
        if (members_.own() == 0) own.steps.push_back({{{call_.root, {{0, 1}}}}, {}});
        if (members_.own() == call_.root) own.steps.push_back({{}, {{0, {{0, 1}}}}});
    }
    return own;
}

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
    for (const schedule_step& step : schedule_.steps) run_step(step);
    finish();
}

void schedule_runner::prepare() {
    const std::size_t bytes = call_.block_bytes();
    const std::uint32_t rank = members_.own();
    if (reduces()) {
        const std::size_t all = cuts_vector_ ? bytes : schedule_.blocks * bytes;
        work_.reserve(all);
        if (all != 0) std::memcpy(work_.data(), call_.source, all);
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
    if (!reduces() || call_.target == nullptr || bytes == 0) return;
    if (call_.what == exscan && members_.own() == 0) return;
    const std::size_t start = call_.what == reduce_scatter ? members_.own() * bytes : 0;
    std::memcpy(call_.target, work_.data() + start, bytes);
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
            const std::uint64_t block = (range.first + i) % schedule_.blocks;
            if (bytes_of(block) == 0) continue;
            const std::byte* const from = held(block);
            packed_.insert(packed_.end(), from, from + bytes_of(block));
        }
    }
    message_inbox::send(members_.world_rank(message.peer), {members_.name(), collective_}, packed_);
}

/// Ranks that pass blocks of different lengths must not read past what has come.
void schedule_runner::expect_bytes(const schedule_message& message, std::size_t come) const {
    std::size_t wanted = 0;
    for (const block_range& range : message.blocks) {
        for (std::uint64_t i = 0; i < range.count; ++i) {
            wanted += bytes_of((range.first + i) % schedule_.blocks);
        }
    }
    if (wanted == come) return;
    context_.host->launcher().end_job(
        context_, fmt::format("the ranks disagree about the length of a {}: rank {} expects {} "
                              "bytes from rank {}, which has sent {}",
                              name_of(call_.what), context_.rank, wanted,
                              members_.world_rank(message.peer), come));
}

void schedule_runner::receive(const schedule_message& message) {
    auto come = context_.inbox->take(
        context_, {{members_.name(), collective_}, members_.world_rank(message.peer)});
    expect_bytes(message, come.bytes);
    std::byte* next = come.data.data();
    for (const block_range& range : message.blocks) {
        for (std::uint64_t i = 0; i < range.count; ++i) {
            const std::uint64_t block = (range.first + i) % schedule_.blocks;
            if (bytes_of(block) == 0) continue;
            take_in(message.action, block, next);
            next += bytes_of(block);
        }
    }
}

void schedule_runner::take_in(block_action action, std::uint64_t block, std::byte* come) {
    std::byte* const own = place_for(block);
    if (action == block_action::store) {
        std::memcpy(own, come, bytes_of(block));
        return;
    }
    const detail::reduction& how = *call_.how;
    const std::size_t elements = elements_of(block);
    if (action == block_action::combine_after) {
        how.combine(how.operation, own, own, come, elements);
    } else {
        how.combine(how.operation, come, come, own, elements);
        std::memcpy(own, come, bytes_of(block));
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
    if (reduces()) return work_.data() + start_in_vector(block);
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
