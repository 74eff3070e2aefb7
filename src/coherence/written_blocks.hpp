// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace selion::coherence {

/// The blocks that a rank has written since its last release, where others are told of changed
/// bytes: what each held before, to find them. A block is *open* while it is written; what has been
/// sent of it is *under way* until the home has taken it. See protocol.md, Updates.
class written_blocks {
public:
    /// @param block_bytes a multiple of 8.
    explicit written_blocks(std::size_t block_bytes) : words_(block_bytes / word_bytes) {}

    bool is_open(std::uint64_t block) const { return before(block) != nullptr; }
    /// What an open block held, with others' changes since; null: it is not open.
    const std::byte* before(std::uint64_t block) const;
    /// Before the first write. @param here where the block lies.
    void open(std::uint64_t block, const std::byte* here);
    std::vector<std::uint64_t> all_open() const;
    /// @param round that its changes are sent in, if they have to be taken.
    /// @return what has changed since it was opened, for `merge`; it is under way now. Empty:
    /// nothing is.
    std::vector<std::byte> close(std::uint64_t block, const std::byte* here,
                                 std::optional<std::uint32_t> round);
    /// What was sent in a round has been taken.
    void forget(std::uint64_t block, std::uint32_t round);
    /// Puts in what another rank has changed. The rank's own changes stay: they come later in the
    /// home's order.
    void merge(std::uint64_t block, std::byte* here, std::span<const std::byte> changes);

private:
    static constexpr std::size_t word_bytes = 8;

    using marks = std::vector<std::uint8_t>;  ///< for each word: which of its bytes
    struct sent_bytes {
        std::uint32_t round;
        marks which;
    };
    struct twin {
        std::unique_ptr<std::byte[]> before;  ///< null: not open
        std::vector<sent_bytes> under_way;
        std::uint8_t bytes_under_way(std::size_t word) const;
    };
    void merge_word(twin* mine, std::size_t word, std::byte* here, std::uint8_t which,
                    const std::byte* changed) const;

    std::size_t words_;
    std::unordered_map<std::uint64_t, twin> twins_;
};

}  // namespace selion::coherence
