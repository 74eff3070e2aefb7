// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace em3d {

/// The finalizer of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", OOPSLA 2014): spreads every bit of the argument over the whole result.
constexpr std::uint64_t scatter(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
    return bits ^ (bits >> 31);
}

/// Random numbers that are a function of the key alone: whoever computes a node, on whatever rank
/// and in whatever order, draws the same ones.
class random_stream {
public:
    constexpr random_stream(std::uint64_t seed, std::uint64_t key)
        : state_(scatter(scatter(seed + golden) + key)) {}

    constexpr std::uint64_t bits() { return scatter(state_ += golden); }

    /// Uniform on 0 .. bound - 1, up to a bias below bound / 2^32. @pre 0 < bound.
    constexpr std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>(((bits() >> 32) * bound) >> 32);
    }

    /// Uniform on [0, 1), a multiple of 2^-53.
    constexpr double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

private:
    static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

    std::uint64_t state_;
};

}  // namespace em3d
