// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "selion/detail/block_view.hpp"

namespace selion::coherence {

/// The table of a `block_view`: copies that the rank may use at once. Each has two places where it
/// may stand; the one that came last stands in the first. It grows while blocks push each other
/// out.
class place_table {
public:
    explicit place_table(unsigned block_bits) : block_bits_(block_bits), places_(least_places) {}

    const detail::block_place* places() const { return places_.data(); }
    std::uint64_t mask() const { return (places_.size() - 1) & ~std::uint64_t{1}; }

    /// @return where the block of an address stands; null: nowhere.
    const detail::block_place* find(std::uint64_t address) const {
        const std::uint64_t number = address >> block_bits_;
        const detail::block_place* const place = &places_[index_of(number)];
        return place[0].is_of(number) ? place : place[1].is_of(number) ? place + 1 : nullptr;
    }
    /// @param block global address of its first byte. @param memory where it lies here.
    /// @return whether the table has been replaced.
    bool remember(std::uint64_t block, const std::byte* memory, bool may_write) {
        const std::uint64_t number = block >> block_bits_;
        const std::uint64_t marks = may_write ? detail::block_place::writable : 0;
        put({number << detail::block_place::number_shift | marks,
             reinterpret_cast<std::uint64_t>(memory) - block});
        if (pushed_out_ <= places_.size() || places_.size() == most_places) return false;
        std::vector<detail::block_place> old(2 * places_.size());
        old.swap(places_);
        for (const detail::block_place& one : old) {
            if (one.tag != detail::block_place::nothing) put(one);
        }
        pushed_out_ = 0;
        return true;
    }
    /// @return whether it was there.
    bool forget(std::uint64_t block) {
        const detail::block_place* const found = find(block);
        if (found == nullptr) return false;
        places_[static_cast<std::size_t>(found - places_.data())] = {};
        return true;
    }

private:
    static constexpr std::size_t least_places = 256;
    static constexpr std::size_t most_places = 131072;  ///< 2 MiB: more miss the cache

    std::uint64_t index_of(std::uint64_t number) const {
        return detail::block_view::hash_of(number) & mask();
    }
    void put(const detail::block_place& what) {
        const std::uint64_t number = what.tag >> detail::block_place::number_shift;
        const std::uint64_t index = index_of(number);
        if (index == 0) return;  // stays empty: see block_view::mask
        detail::block_place* const place = &places_[index];
        if (!place[0].is_of(number)) {
            const bool is_full = !place[1].is_of(number) &&
                                 place[1].tag != detail::block_place::nothing &&
                                 place[0].tag != detail::block_place::nothing;
            pushed_out_ += is_full ? 1 : 0;
            if (place[0].tag != detail::block_place::nothing) place[1] = place[0];
        }
        place[0] = what;
        if (place[1].is_of(number)) place[1] = {};
    }

    unsigned block_bits_;
    std::vector<detail::block_place> places_;
    std::uint64_t pushed_out_ = 0;
};

}  // namespace selion::coherence
