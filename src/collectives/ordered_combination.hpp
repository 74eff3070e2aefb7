// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collectives/aligned_bytes.hpp"
#include "selion/charge.hpp"
#include "selion/reduction.hpp"

namespace selion::collectives {

/// Combines the values of members 0, 1, … in the one association that reductions promise
/// (selion/reduction.hpp), strip by strip so that partial results stay in the first-level cache.
/// They wait on a stack, and the two on top are combined as soon as they stand for equally many
/// members, as the digits of a binary counter are.
class ordered_combination {
public:
    /// Makes room for what a combination of so many members needs.
    void prepare(std::uint32_t members, std::size_t element_bytes) {
        if (members <= 2) return;
        // The place below all others is the result.
        const auto places = static_cast<std::size_t>(std::bit_width(members - 1)) - 1;
        partials_.reserve(places * std::max(element_bytes, strip_bytes));
    }

    struct extent {
        std::size_t count;  ///< elements
        std::uint32_t members;
        /// How the values of 2^k members, 2^j members, … are put together at last: as a sum (from
        /// the right) or as a prefix (from the left).
        bool from_left = false;
    };

    /// @param value_of tells where a member's values lie, from a byte on: (member, start, bytes).
    /// @pre `prepare` has made room.
    template <class ValueOf>
    void combine(std::byte* to, const extent& what, const detail::reduction& how,
                 const ValueOf& value_of) {
        const std::size_t strip = std::max<std::size_t>(strip_bytes / how.element_bytes, 1);
        for (std::size_t done = 0; done < what.count; done += strip) {
            const std::size_t count = std::min(what.count - done, strip);
            const std::size_t start = done * how.element_bytes;
            combine_strip(to + start, {count, what.members, what.from_left}, how,
                          [&](std::uint32_t member) {
                              return value_of(member, start, count * how.element_bytes);
                          });
        }
    }

private:
    static constexpr std::size_t strip_bytes = 4 * 1024;

    template <class ValueOf>
    void combine_strip(std::byte* to, const extent& what, const detail::reduction& how,
                       const ValueOf& value_of) {
        const std::size_t bytes = what.count * how.element_bytes;
        const auto place = [&](std::size_t depth) {
            return depth == 0 ? to : partials_.data() + (depth - 1) * bytes;
        };
        const auto add = [&](std::byte* left, const std::byte* right) {
            how.combine(how.operation, left, left, right, what.count);
            charge(flops(what.count));
        };
        std::size_t depth = 0;
        for (std::uint32_t member = 0; member < what.members; member += 2) {
            std::byte* const top = place(depth++);
            const std::byte* const left = value_of(member);
            if (member + 1 == what.members) {
                std::memcpy(top, left, bytes);
                break;
            }
            how.combine(how.operation, top, left, value_of(member + 1), what.count);
            charge(flops(what.count));
            for (std::uint32_t pairs = member / 2; pairs % 2 != 0; pairs /= 2) {
                --depth;
                add(place(depth - 1), place(depth));
            }
        }
        if (what.from_left) {
            for (std::size_t next = 1; next < depth; ++next) add(to, place(next));
        } else {
            for (; depth > 1; --depth) add(place(depth - 2), place(depth - 1));
        }
    }

    aligned_bytes partials_;  ///< above the first
};

}  // namespace selion::collectives
