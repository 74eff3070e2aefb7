// SPDX-License-Identifier: Apache-2.0
#include "coherence/access_meter.hpp"

#include <algorithm>
#include <tuple>

#include "onesided/global_address.hpp"

namespace selion::coherence {

void access_meter::add_array(std::uint64_t offset, std::uint64_t bytes, std::string_view name) {
    arrays_.push_back({offset, bytes, static_cast<std::uint32_t>(names_.size())});
    names_.emplace_back(name);
}

void access_meter::find_array(std::uint64_t offset) {
    const auto found = std::ranges::find_if(
        arrays_, [&](const array& one) { return offset - one.offset < one.bytes; });
    last_array_ = found == arrays_.end() ? array{offset, 1, no_array} : *found;
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
    std::vector<access_line> all;
    for (const auto& [where, counts] : counts_) {
        all.push_back({where.file, where.line,
                       where.array == no_array ? std::string() : names_[where.array], counts});
    }
    std::ranges::sort(
        all, {}, [](const access_line& one) { return std::tie(one.file, one.line, one.array); });
    return all;
}

std::vector<false_sharing> access_meter::worst_blocks(std::size_t most) const {
    std::vector<false_sharing> all;
    for (const auto& [block, count] : useless_) {
        const std::uint64_t offset = block & detail::offset_mask;
        const auto found = std::ranges::find_if(
            arrays_, [&](const array& one) { return offset - one.offset < one.bytes; });
        const bool is_known = found != arrays_.end();
        all.push_back({.array = is_known ? names_[found->number] : std::string(),
                       .offset = is_known ? offset - found->offset : offset,
                       .home = detail::rank_of(block),
                       .useless_misses = count});
    }
    std::ranges::sort(all, {}, [](const false_sharing& one) {
        return std::tuple(~one.useless_misses, one.home, one.offset);
    });
    if (all.size() > most) all.resize(most);
    return all;
}

}  // namespace selion::coherence
