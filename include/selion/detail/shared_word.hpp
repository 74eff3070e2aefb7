// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace selion::detail {

/// Distance that keeps two words from disturbing each other: two cache lines, because processors
/// fetch lines in adjacent pairs.
inline constexpr std::size_t line_bytes = 128;

/// A word that one rank may wait on while others change it. `sleeper` says who sleeps on it: 0
/// nobody, a doorbell's number + 1 one thread, all ones several (src/machine/node/waiting.md).
/// `note` is free for whoever the word belongs to: what is written before a value is seen with it.
/// All zero is a valid word of value 0.
struct alignas(16) shared_word {
    std::uint64_t value;
    std::uint32_t sleeper;
    std::uint32_t note;
};

static_assert(sizeof(shared_word) == 16 && offsetof(shared_word, sleeper) == 8);

}  // namespace selion::detail
