// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "selion/access_replay.hpp"

namespace selion::coherence {

/// An access to bytes of one home's part of a space. @param place within the part.
struct replayed_access {
    std::uint32_t rank = 0;
    std::uint32_t home = 0;
    std::uint64_t place = 0;
    std::uint64_t bytes = 0;
    bool is_write = false;
    std::size_t array = 0;  ///< number to count under
};

/// When each word of a space was last written: accesses are numbered.
class word_history {
public:
    explicit word_history(std::uint32_t ranks) : written_(ranks) {}
    /// Another access.
    void begin() { ++now_; }
    std::uint64_t now() const { return now_; }
    void write(std::uint32_t home, std::uint64_t place, std::uint64_t bytes);
    bool is_written_since(std::uint64_t then, std::uint32_t home, std::uint64_t place,
                          std::uint64_t bytes) const;

private:
    static constexpr std::uint64_t word_bytes = 8;
    static constexpr std::uint64_t words_of_page = 512;
    using page = std::array<std::uint64_t, words_of_page>;
    /// By home and number of the page; what is not there was never written.
    std::vector<std::unordered_map<std::uint64_t, std::unique_ptr<page>>> written_;
    std::uint64_t now_ = 0;
};

/// Who has which blocks of a space, if blocks have a certain size: the states of the protocol by
/// invalidation, without messages and with room for all copies.
class replayed_blocks {
public:
    replayed_blocks(std::size_t block_bytes, std::uint32_t ranks)
        : block_bytes_(block_bytes), blocks_(ranks), flushed_(ranks), dropped_(ranks) {}

    std::size_t block_bytes() const { return block_bytes_; }
    /// Cut into those of single blocks. @param words without this access.
    void access(const replayed_access& one, const word_history& words);
    /// By number of the array.
    const std::vector<replayed_array>& counts() const { return counts_; }
    /// The rank gives up what it has written, or all copies that it has.
    void flush(std::uint32_t rank, std::uint64_t now) { flushed_[rank] = now; }
    void invalidate(std::uint32_t rank, std::uint64_t now) {
        flushed_[rank] = dropped_[rank] = now;
    }

    /// False sharing of one block and array.
    struct shared_falsely {
        std::size_t array = 0;
        std::uint64_t place = 0;  ///< of the block's first byte
        std::uint32_t home = 0;
        std::uint64_t misses = 0;
    };
    /// The worst ones first.
    std::vector<shared_falsely> worst(std::size_t most) const;

private:
    static constexpr std::uint32_t nobody = UINT32_MAX;
    struct sharer {
        std::uint32_t rank = 0;
        std::uint64_t since = 0;
    };
    struct block {
        std::uint32_t owner = nobody;
        std::uint64_t owned_since = 0;
        std::vector<sharer> sharers;
        /// By rank that has lost its copy: when.
        std::unordered_map<std::uint32_t, std::uint64_t> lost;
    };
    struct piece;

    void access_block(const piece& one, replayed_array& counts, const word_history& words);
    void read(block& of, const piece& one, replayed_array& counts, const word_history& words);
    void write(block& of, const piece& one, replayed_array& counts, const word_history& words);
    void note_cause(block& of, const piece& one, replayed_array& counts, const word_history& words);
    /// From ranks that have given up what they had.
    void take_back(block& of, replayed_array& counts) const;
    /// What the owner has written comes home.
    void fetch_from_owner(block& of, replayed_array& counts) const;

    std::size_t block_bytes_;
    std::vector<std::unordered_map<std::uint64_t, block>> blocks_;  ///< by home and number
    std::vector<replayed_array> counts_;
    /// Misses by home, number of the block and array.
    std::map<std::tuple<std::uint32_t, std::uint64_t, std::size_t>, std::uint64_t> useless_;
    // When ranks have last given up what they had written, and all copies.
    std::vector<std::uint64_t> flushed_;
    std::vector<std::uint64_t> dropped_;
};

}  // namespace selion::coherence
