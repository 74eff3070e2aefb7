// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

/// Traces of accesses to coherent memory. A file is one rank's, of one space: a head, and then
/// records. A record is a byte that says what it is, and numbers of seven bits a byte, the lowest
/// first; signed ones have their sign in the lowest bit. The numbers of a head: rank, ranks, run,
/// number of the space, bytes of a block, offset and bytes of the space.
namespace selion::coherence::trace_format {

constexpr std::string_view magic = "selion access trace 2\n";

enum class record : std::uint8_t {
    read,        ///< address from the last one's end, bytes, nanoseconds since the last one
    write,       ///< as read; an atomic change is one
    array,       ///< offset, bytes, length of the name, the name
    flush,       ///< nanoseconds since the last one: the rank has no modified copies any more
    invalidate,  ///< as flush: it has no copies at all
    totals,      ///< misses, picoseconds waited in them, accesses that were left out; the last one
};

constexpr std::uint64_t fold_sign(std::int64_t number) {
    return static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63);
}
constexpr std::int64_t unfold_sign(std::uint64_t folded) {
    return static_cast<std::int64_t>(folded >> 1) ^ -static_cast<std::int64_t>(folded & 1);
}

}  // namespace selion::coherence::trace_format
