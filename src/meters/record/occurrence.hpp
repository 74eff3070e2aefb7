// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace selion::meters {

/// What a slice of a trace stands for: its category there.
enum class slice_kind : std::uint8_t {
    timer,       ///< a piece of the program
    operation,   ///< put, get, signal, atomic, quiet
    collective,  ///< all ranks take part
    wait,        ///< the rank stands still until a word changes
    message,     ///< sent by the library itself, within a collective
    arrival,     ///< a message takes effect here; on a track beside the rank's own
    count,       ///< no slice: a counter has changed to `bytes`
};
inline constexpr std::size_t slice_kinds = 7;

/// One arrow of a trace, from what caused something to what it caused. 0: none.
using flow_id = std::uint64_t;

inline constexpr std::uint32_t nobody = UINT32_MAX;

/// One thing that happened: what, when, how long, how many bytes.
struct occurrence {
    const char* name;  ///< kept by address: a literal
    std::int64_t start_ps = 0;
    std::int64_t end_ps = 0;
    slice_kind kind = slice_kind::timer;
    bool is_handlers = false;  ///< done by a handler of the rank, beside what the rank does
    std::uint32_t line = 0;
    const char* file = nullptr;
    std::uint64_t bytes = 0;
    std::uint32_t peer = nobody;  ///< the other rank
    flow_id flow_in = 0;          ///< the arrow that ends here
    flow_id flow_out = 0;         ///< the arrow that begins here
};

/// The arrow from a change of a signal to the wait that it ended. Both sides know the word and its
/// new value, so they find the same number without telling each other anything.
/// @param signal global address of the word.
/// @param era how often symmetric memory has been given back: an address that is used again is
/// another signal.
constexpr flow_id flow_of_signal(std::uint64_t signal, std::uint64_t value, std::uint64_t era) {
    std::uint64_t mixed = signal;
    for (const std::uint64_t part : {value, era}) {
        mixed = (mixed ^ (mixed >> 31)) * 0x9e3779b97f4a7c15u + part;
        mixed = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
    }
    // Messages have small numbers.
    return mixed | (std::uint64_t{1} << 63);
}

}  // namespace selion::meters
