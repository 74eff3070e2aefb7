// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <selion/cached.hpp>
#include <selion/charge.hpp>

namespace coherent_order {

/// Random numbers that are the same on every host.
class dice {
public:
    explicit dice(std::uint64_t seed, std::uint64_t which = 0)
        : state_(seed * 0x9e3779b97f4a7c15 + which * 0xd1342543de82ef95) {}

    /// @return 0 to `end` - 1.
    std::uint64_t below(std::uint64_t end) { return draw() % end; }
    bool one_in(std::uint64_t count) { return below(count) == 0; }

private:
    std::uint64_t draw() {
        state_ ^= state_ >> 12;
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
        return mixed ^ (mixed >> 31);
    }

    std::uint64_t state_;
};

/// Small blocks, of which the largest do not travel as arguments of a message, and mostly room for
/// one to three of them.
inline selion::cached any_cache(dice& common) {
    selion::cached how;
    how.block_bytes = std::size_t{8} << common.below(5);
    how.capacity_bytes = common.below(4) * how.block_bytes;
    how.protocol = selion::cache_protocol::always;
    how.has_statistics = common.one_in(4);
    return how;
}

/// Mostly shorter than a message takes, sometimes as long as a few. Never nothing: so an access
/// begins later than the one before ended.
inline void pause(dice& own) {
    const std::uint64_t most_ns = own.one_in(4) ? 10'000 : 500;
    selion::charge(selion::nanoseconds(static_cast<std::int64_t>(1 + own.below(most_ns))));
}

}  // namespace coherent_order
