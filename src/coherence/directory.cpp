// SPDX-License-Identifier: Apache-2.0
#include "coherence/directory.hpp"

#include <cstring>
#include <utility>

#include "selion/detail/export.hpp"

namespace selion::coherence {

detail::own_state directory::state_of(std::uint64_t block) const {
    using enum detail::own_state;
    const auto found = blocks_.find(block);
    if (found == blocks_.end()) return untouched;
    const home_block& known = found->second;
    if (known.owner != nobody || known.busy != nullptr) return elsewhere;
    return known.sharers.empty() ? writable : readable;
}

const rank_set& directory::sharers_of(std::uint64_t block) const {
    static const rank_set nobody_at_all;
    const auto found = blocks_.find(block);
    return found == blocks_.end() ? nobody_at_all : found->second.sharers;
}

/// Before anybody hears of what has become of the block.
void directory::show([[maybe_unused]] std::uint64_t address,
                     [[maybe_unused]] const home_block& block) {
    if constexpr (SELION_CHECK_LEVEL >= 2) {
        using enum detail::own_state;
        const auto unowned = block.sharers.empty() ? writable : readable;
        host_.show(address, block.owner != nobody ? elsewhere : unowned);
    }
}

/// A rank has no copies any more.
void directory::forget_sharer(std::uint32_t rank) {
    for (auto& [address, block] : blocks_) {
        block.sharers.erase(rank);
        show(address, block);
    }
}

void directory::ask(block_access& access, std::uint64_t block) {
    const auto kind = writes(access.kind) ? message_kind::get_modified : message_kind::get_shared;
    ask(*blocks_.try_emplace(block).first, {rank_, kind, &access});
}

void directory::ask(block_map::value_type& which, const block_request& request) {
    home_block& block = which.second;
    if (block.busy != nullptr) return block.busy->waiting.push_back(request);
    block.busy = std::make_unique<service>(request);
    if (begin(which)) carry_out(which);
}

/// Asks others for what the request needs. @return whether it needs nobody.
bool directory::begin(block_map::value_type& which) {
    auto& [address, block] = which;
    service& now = *block.busy;
    const bool to_read = now.served.kind == message_kind::get_shared;
    if (block.owner != nobody) {
        now.wants_data = true;
        ++flushes_;
        host_.send(
            block.owner,
            {to_read ? message_kind::flush_to_shared : message_kind::flush_to_invalid, address});
        return false;
    }
    if (to_read) return true;
    rank_set others = block.sharers;  // a copy: the first may have answered before the last is told
    others.erase(now.served.rank);
    if (others.empty()) return true;
    now.missing = others.size();
    invalidations_ += others.size();
    for (const std::uint32_t rank : others) {
        host_.send(rank, {message_kind::invalidate, address});
    }
    return false;
}

/// The request that is served gets the block, then the next ones.
void directory::carry_out(block_map::value_type& which) {
    home_block& block = which.second;
    do {
        grant(which, block.busy->served);
        service& now = *block.busy;
        if (now.waiting.empty()) return block.busy.reset();
        now.served = now.waiting.front();
        now.waiting.pop_front();
    } while (begin(which));
}

/// @pre nobody has the block in a way that keeps the rank from it.
void directory::grant(block_map::value_type& which, const block_request& to) {
    auto& [address, block] = which;
    const bool to_read = to.kind == message_kind::get_shared;
    std::byte* const memory = host_.memory_of(address);
    if (to.own != nullptr) {
        if (!to_read) block.sharers.clear();
        show(address, block);
        to.own->perform(memory + (to.own->address - address));
        return host_.finish(*to.own);
    }
    host_.forget(address);
    if (to_read) {
        block.sharers.insert(to.rank);
        show(address, block);
        return host_.send(to.rank, {message_kind::grant_shared,
                                    address,
                                    {host_.released_memory_of(address), block_bytes_}});
    }
    const bool has_copy = to.kind == message_kind::upgrade && block.sharers.contains(to.rank);
    block.sharers.clear();
    block.owner = to.rank;
    show(address, block);
    const std::size_t bytes = has_copy ? 0 : block_bytes_;
    host_.send(to.rank, {message_kind::grant_modified, address, {memory, bytes}});
}

/// The owner has sent what it had.
void directory::come_home(home_block& block, std::uint64_t address,
                          std::span<const std::byte> data) {
    std::memcpy(host_.memory_of(address), data.data(), data.size());
    block.owner = nobody;
    show(address, block);
}

void directory::receive(std::uint32_t from, const block_message& message) {
    if (message.kind == message_kind::all_gone) return forget_sharer(from);
    auto& which = *blocks_.try_emplace(message.block).first;
    home_block& block = which.second;
    switch (message.kind) {
        case message_kind::write_back:
            come_home(block, message.block, message.data);
            // It may be the answer to a flush that it has met on its way.
            if (block.busy == nullptr || !std::exchange(block.busy->wants_data, false)) return;
            return carry_out(which);
        case message_kind::flushed:
            come_home(block, message.block, message.data);
            block.busy->wants_data = false;
            if (block.busy->served.kind == message_kind::get_shared) block.sharers.insert(from);
            return carry_out(which);
        case message_kind::gone: block.sharers.erase(from); return show(message.block, block);
        case message_kind::acknowledged:
            block.sharers.erase(from);
            if (--block.busy->missing == 0) carry_out(which);
            return;
        default: return ask(which, {from, message.kind});
    }
}

}  // namespace selion::coherence
