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
    // from the home
    invalidate,
    flush_to_shared,
    flush_to_invalid,
    grant_shared,
    grant_modified,
    // either way
    echo_request,  ///< when it is answered, all that was sent before it has been seen to
    echo,
};

/// @param block global address of its first byte, a multiple of 8: the kind is kept in bits that an
/// address of the symmetric heap does not use.
struct block_message {
    message_kind kind;
    std::uint64_t block;
    std::span<const std::byte> data = {};
};

/// What stands in front of the data.
struct message_head {
    std::uint64_t kind_and_block;
    std::uint64_t space;

    static constexpr unsigned kind_shift = 60;
    static message_head of(const block_message& message, std::uint64_t space) {
        return {static_cast<std::uint64_t>(message.kind) << kind_shift | message.block, space};
    }
    message_kind kind() const { return static_cast<message_kind>(kind_and_block >> kind_shift); }
    std::uint64_t block() const { return kind_and_block & ((std::uint64_t{1} << kind_shift) - 1); }
};

}  // namespace selion::coherence
