// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace selion::coherence {

/// What ranks tell each other of a block; see protocol.md.
enum class message_kind : std::uint8_t {
    // to the home
    get_shared,
    get_modified,
    upgrade,
    flushed,
    write_back,
    acknowledged,
    written,
    gone,
    all_gone,
    // from the home
    invalidate,
    flush_to_shared,
    flush_to_invalid,
    grant_shared,
    grant_modified,
    update,
    taken,
    // to who has written
    updated,
    // either way
    echo_request,  ///< when it is answered, all that was sent before it has been seen to
    echo,
};

/// Whether its data, if any, are a block.
constexpr bool has_block(message_kind what) {
    using enum message_kind;
    return what == flushed || what == write_back || what == grant_shared || what == grant_modified;
}

/// @param block global address of its first byte; of changes another number: part_updates.cpp.
struct block_message {
    message_kind kind;
    std::uint64_t block;
    std::span<const std::byte> data = {};
};

/// What stands in front of the data.
struct message_head {
    std::uint64_t block;
    std::uint64_t kind_and_view;

    static constexpr unsigned kind_shift = 56;
    /// @param view offset of the space's view in each rank's memory.
    static message_head of(const block_message& message, std::uint64_t view) {
        return {message.block, static_cast<std::uint64_t>(message.kind) << kind_shift | view};
    }
    message_kind kind() const { return static_cast<message_kind>(kind_and_view >> kind_shift); }
    std::uint64_t view() const { return kind_and_view & ((std::uint64_t{1} << kind_shift) - 1); }
};

}  // namespace selion::coherence
