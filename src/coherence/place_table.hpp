// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "selion/detail/block_view.hpp"

namespace selion::coherence {

/// The table of a `block_view`: blocks that the rank may use at once. One block has one place where
/// it may stand; the one that came last does. It grows while blocks push each other out.
class place_table {
public:
    explicit place_table(unsigned block_bits) : block_bits_(block_bits), places_(least_places) {}

    const detail::block_place* places() const { return places_.data(); }
    std::uint64_t mask() const { return places_.size() - 1; }

    const detail::block_place& of(std::uint64_t address) const {
        return places_[index_of(address >> block_bits_)];
    }
    /// @param block global address of its first byte. @param memory where it lies here.
    /// @return whether the table has been replaced.
    bool remember(std::uint64_t block, const std::byte* memory, bool may_write, bool is_untouched) {
        const std::uint64_t number = block >> block_bits_;
        const std::uint64_t index = index_of(number);
        if (index == 0) return false;  // stays empty: see block_view::mask
        detail::block_place& place = places_[index];
        if (place.readable != detail::no_block && place.readable != number) ++pushed_out_;
        place = {number, may_write ? number : detail::no_block,
                 reinterpret_cast<std::uint64_t>(memory) - block, is_untouched};
        if (pushed_out_ <= places_.size() || places_.size() == most_places) return false;
        pushed_out_ = 0;
        std::vector<detail::block_place> old(2 * places_.size());
        old.swap(places_);
        for (const detail::block_place& one : old) {
            const std::uint64_t to = index_of(one.readable);
            if (one.readable != detail::no_block && to != 0) places_[to] = one;
        }
        return true;
    }
    /// @return whether it was there.
    bool forget(std::uint64_t block) {
        const std::uint64_t number = block >> block_bits_;
        detail::block_place& place = places_[index_of(number)];
        if (place.readable != number) return false;
        place = {};
        return true;
    }

private:
    static constexpr std::size_t least_places = 256;
    static constexpr std::size_t most_places = 65536;  ///< 2 MiB: more miss the cache

    std::uint64_t index_of(std::uint64_t number) const {
        return detail::block_view::hash_of(number) & mask();
    }

    unsigned block_bits_;
    std::vector<detail::block_place> places_;
    std::uint64_t pushed_out_ = 0;
};

}  // namespace selion::coherence
