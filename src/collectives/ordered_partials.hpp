// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "collectives/aligned_bytes.hpp"
#include "selion/charge.hpp"
#include "selion/reduction.hpp"

namespace selion::collectives {

/// Partial results of a range of members in the association that reductions promise
/// (selion/reduction.hpp), as far as the range allows: two neighbouring ones are combined as soon
/// as the binomial tree of all members combines them. Members 3 to 6 of 8 have three: 3, (4 5), 6.
class ordered_partials {
public:
    /// @param members of all ranges together.
    ordered_partials(std::uint32_t members, std::size_t count, const detail::reduction& how)
        : how_(how),
          count_(count),
          bytes_(count * how.element_bytes),
          room_((most(members) + 1) * bytes_) {}

    /// Forgets everything; the range is empty and begins at a member.
    void begin_at(std::uint32_t first) {
        sizes_.clear();
        first_ = end_ = first;
    }
    /// The values of the next member.
    void add(const std::byte* values) { push(values, 1); }
    /// Those of the members up to `end`, as `bytes()` of their own range has them.
    void add_range(std::span<const std::byte> partials, std::uint32_t end) {
        const std::byte* next = partials.data();
        for (const std::uint32_t size : sizes_of(end_, end)) {
            push(next, size);
            next += bytes_;
        }
    }

    /// The same for the members before, from `first` on.
    void add_before(std::span<const std::byte> partials, std::uint32_t first) {
        const std::uint32_t middle = first_;
        const std::uint32_t end = end_;
        kept_.assign(bytes().begin(), bytes().end());
        begin_at(first);
        add_range(partials, middle);
        add_range(kept_, end);
    }

    std::uint32_t end() const { return end_; }
    std::span<const std::byte> bytes() const { return {room_.data(), sizes_.size() * bytes_}; }
    /// Bytes that the partial results of a range have.
    std::size_t bytes_of(std::uint32_t first, std::uint32_t end) const {
        return sizes_of(first, end).size() * bytes_;
    }

    /// Puts together what is left. @pre the range is all members.
    const std::byte* total() {
        for (; sizes_.size() > 1; sizes_.pop_back()) combine_top();
        return room_.data();
    }

private:
    /// On both slopes of a range, each power of two once.
    static std::size_t most(std::uint32_t members) {
        return 2 * static_cast<std::size_t>(std::bit_width(members));
    }
    /// Whether the last two of some sizes, which end before a member, are combined.
    static bool is_pair(const std::vector<std::uint32_t>& sizes, std::uint32_t end) {
        if (sizes.size() < 2) return false;
        const std::uint32_t size = sizes.back();
        return sizes[sizes.size() - 2] == size && (end - 2 * size) % (2 * size) == 0;
    }
    static std::vector<std::uint32_t> sizes_of(std::uint32_t first, std::uint32_t end) {
        std::vector<std::uint32_t> sizes;
        for (std::uint32_t member = first; member < end; ++member) {
            sizes.push_back(1);
            while (is_pair(sizes, member + 1)) {
                sizes.pop_back();
                sizes.back() *= 2;
            }
        }
        return sizes;
    }

    std::byte* place(std::size_t number) { return room_.data() + number * bytes_; }
    void combine_top() {
        std::byte* const left = place(sizes_.size() - 2);
        how_.combine(how_.operation, left, left, place(sizes_.size() - 1), count_);
        charge(flops(count_));
    }
    void push(const std::byte* values, std::uint32_t members) {
        std::memcpy(place(sizes_.size()), values, bytes_);
        sizes_.push_back(members);
        end_ += members;
        while (is_pair(sizes_, end_)) {
            combine_top();
            sizes_.pop_back();
            sizes_.back() *= 2;
        }
    }

    const detail::reduction& how_;
    std::size_t count_;
    std::size_t bytes_;
    aligned_bytes room_;
    std::vector<std::byte> kept_;
    std::vector<std::uint32_t> sizes_;  ///< members that each stands for
    std::uint32_t first_ = 0;
    std::uint32_t end_ = 0;
};

}  // namespace selion::collectives
