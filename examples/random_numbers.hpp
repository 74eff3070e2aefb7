// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace examples {

/// The finalizer of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", OOPSLA 2014): spreads every bit of the argument over the whole result.
constexpr std::uint64_t scatter(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
    return bits ^ (bits >> 31);
}

/// The number that belongs to a key. Whoever asks, in whatever order, gets the same: so a result
/// does not depend on how work falls onto ranks.
constexpr std::uint64_t random_bits(std::uint64_t key) {
    return scatter(key * 0x9e3779b97f4a7c15U + 0x9e3779b97f4a7c15U);
}

/// The same as a number from 0 up to, not including, 1.
constexpr double random_unit(std::uint64_t key) {
    return static_cast<double>(random_bits(key) >> 11) * 0x1p-53;
}

}  // namespace examples
