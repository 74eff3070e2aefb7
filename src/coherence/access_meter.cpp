// SPDX-License-Identifier: Apache-2.0
#include "coherence/access_meter.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "selion/detail/global_address.hpp"

namespace selion::coherence {

void access_meter::look_up(std::uint64_t offset) {
    const named_array* const found = find_array(arrays_, offset);
    last_array_ = found == nullptr ? place{offset, 1, no_array}
                                   : place{found->offset, found->bytes,
                                           static_cast<std::uint32_t>(found - arrays_.data())};
}

access_counts access_meter::total() const {
    access_counts sum;
    for (const auto& [where, counts] : counts_) sum += counts;
    return sum;
}

access_counts access_meter::of_array(std::uint64_t offset) const {
    access_counts sum;
    for (const auto& [where, counts] : counts_) {
        if (where.array != no_array && arrays_[where.array].offset == offset) sum += counts;
    }
    return sum;
}

std::vector<access_line> access_meter::lines() const {
    // A header's name lies in each object file that has included it.
    std::map<std::tuple<std::string_view, std::uint32_t, std::uint32_t>, access_counts> by_name;
    for (const auto& [where, counts] : counts_) {
        by_name[{where.file, where.line, where.array}] += counts;
    }
    std::vector<access_line> all;
    for (const auto& [where, counts] : by_name) {
        const auto& [file, line, array] = where;
        all.push_back({std::string(file), line,
                       array == no_array ? std::string() : arrays_[array].name, counts});
    }
    std::ranges::stable_sort(
        all, {}, [](const access_line& one) { return std::tie(one.file, one.line, one.array); });
    return all;
}

std::vector<false_sharing> access_meter::worst_blocks(std::size_t most) const {
    std::vector<false_sharing> all;
    for (const auto& [where, count] : useless_) {
        const auto& [block, number] = where;
        const std::uint64_t offset = block & detail::offset_mask;
        false_sharing one{
            .array = {}, .offset = offset, .home = detail::rank_of(block), .useless_misses = count};
        if (number != no_array) {
            one.array = arrays_[number].name;
            one.offset -= std::min(offset, arrays_[number].offset);
        }
        all.push_back(one);
    }
    std::ranges::sort(all, {}, [](const false_sharing& one) {
        return std::tuple(~one.useless_misses, one.home, one.offset);
    });
    if (all.size() > most) all.resize(most);
    return all;
}

}  // namespace selion::coherence
