// SPDX-License-Identifier: Apache-2.0
#include "coherence/access_meter.hpp"

#include <algorithm>

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

void access_meter::clear() {
    counts_.clear();
    last_ = nullptr;
}

}  // namespace selion::coherence
