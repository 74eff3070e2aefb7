// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "selion/expect.hpp"
#include "selion/spread_array.hpp"
#include "selion/spread_slice.hpp"

namespace selion::detail {

void end_job_for_index(const array_text& array, std::span<const std::size_t> index,
                       std::source_location site) {
    std::size_t d = 0;
    while (index[d] < array.extents[d]) ++d;
    // What was negative has become very large.
    const std::span signed_index(reinterpret_cast<const std::ptrdiff_t*>(index.data()),
                                 index.size());
    const std::string range = array.extents[d] == 0
                                  ? "none is legal"
                                  : fmt::format("legal are 0 to {}", array.extents[d] - 1);
    end_job_for_bug(fmt::format("index ({}) is out of range: {}{} has {} elements in dimension {}, "
                                "so {}",
                                fmt::join(signed_index, ", "), array.is_slice ? "a slice of " : "",
                                array.name, array.extents[d], d, range),
                    site);
}

void check_extents(const array_text& from, const array_text& to, std::source_location site) {
    SELION_EXPECT_AT(
        std::ranges::equal(from.extents, to.extents), site,
        fmt::format("redistribute: {} has {} elements, {} has {}", from.name,
                    fmt::join(from.extents, " x "), to.name, fmt::join(to.extents, " x ")));
}

void check_alike(const world& all, std::uint64_t layout, std::string_view array,
                 std::source_location site) {
    const std::uint64_t least = all.all_reduce(layout, minimum, site);
    const std::uint64_t most = all.all_reduce(layout, maximum, site);
    SELION_EXPECT_AT(
        least == most, site,
        fmt::format("ranks have not given {} the same extents and distribution", array));
}

void check_range(std::string_view array, std::size_t dimension, const index_range& which,
                 std::size_t extent, std::source_location site) {
    const bool fits =
        which.count == 0 || (which.first < extent && which.step != 0 &&
                             (which.count - 1) <= (extent - 1 - which.first) / which.step);
    [[maybe_unused]] const auto as_given = [](std::size_t number) {
        return static_cast<std::ptrdiff_t>(number);  // what was negative has become very large
    };
    SELION_EXPECT_AT(fits, site,
                     fmt::format("slice: {} indices from {} in steps of {}: {} has {} elements in "
                                 "dimension {}",
                                 as_given(which.count), as_given(which.first), as_given(which.step),
                                 array, extent, dimension));
}

void check_box(std::string_view array, const erased_box& box, std::size_t elements,
               std::source_location site) {
    const bool is_empty = std::ranges::find(box.extents, 0u) != box.extents.end();
    if (is_empty && elements == 0) return;  // nothing is anywhere
    std::size_t size = 1;
    for (std::size_t d = 0; d < box.array.size(); ++d) {
        const bool is_inside =
            box.first[d] <= box.array[d] && box.extents[d] <= box.array[d] - box.first[d];
        SELION_EXPECT_AT(
            is_inside, site,
            fmt::format("elements {} to {} of dimension {}: {} has {} there", box.first[d],
                        box.first[d] + box.extents[d] - 1, d, array, box.array[d]));
        size *= box.extents[d];
    }
    SELION_EXPECT_AT(
        size == elements, site,
        fmt::format("a box of {} elements of {}, and memory for {}", size, array, elements));
}

}  // namespace selion::detail
