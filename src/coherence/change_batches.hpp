// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <vector>

namespace selion::coherence {

/// What has been changed of some blocks, for one receiver: so that many blocks are few messages.
struct change_batch {
    std::uint32_t rank = 0;             ///< to whom it goes
    std::vector<std::byte> data;        ///< for each block a head and its changes
    std::vector<std::uint64_t> blocks;  ///< that it tells of
};

/// Changes sorted by their receivers.
class change_batches {
public:
    /// @param changes as `written_blocks` makes them; whole words.
    void add(std::uint32_t rank, std::uint64_t block, std::span<const std::byte> changes) {
        const auto [open, is_new] = open_.try_emplace(rank, all_.size());
        const std::size_t bytes_more = sizeof(head) + changes.size();
        const bool is_full = !is_new && all_[open->second].data.size() + bytes_more > full_bytes;
        if (is_full) open->second = all_.size();
        if (open->second == all_.size()) all_.push_back({.rank = rank, .data = {}, .blocks = {}});
        change_batch& batch = all_[open->second];
        const head of{block, changes.size()};
        const auto bytes = std::as_bytes(std::span(&of, 1));
        batch.data.insert(batch.data.end(), bytes.begin(), bytes.end());
        batch.data.insert(batch.data.end(), changes.begin(), changes.end());
        batch.blocks.push_back(block);
    }
    const std::vector<change_batch>& all() const { return all_; }
    /// The longest message for blocks of a size.
    static constexpr std::size_t most_bytes(std::size_t block_bytes) {
        const std::size_t one = sizeof(head) + block_bytes + block_bytes / 8 + 16;
        return one > full_bytes ? one : full_bytes;
    }

    /// Calls `what` with each block and its changes.
    template <class Function>
    static void for_each(std::span<const std::byte> data, const Function& what) {
        while (!data.empty()) {
            head of;
            std::memcpy(&of, data.data(), sizeof of);
            what(of.block, data.subspan(sizeof of, of.bytes));
            data = data.subspan(sizeof of + of.bytes);
        }
    }

private:
    /// Of a message of more than one block: larger ones cost no less for a byte.
    static constexpr std::size_t full_bytes = 8192;
    struct head {
        std::uint64_t block;
        std::uint64_t bytes;
    };

    std::vector<change_batch> all_;
    std::map<std::uint32_t, std::size_t> open_;  ///< by receiver: the one that is not full
};

}  // namespace selion::coherence
