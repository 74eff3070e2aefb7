// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <source_location>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "coherence/named_array.hpp"
#include "selion/cached.hpp"

namespace selion::coherence {

/// Counts one rank's accesses to one space, by array and place in the program.
class access_meter {
public:
    /// @param arrays of the space; more may be added.
    explicit access_meter(const std::vector<named_array>& arrays) : arrays_(arrays) {}

    /// @return where to count an access.
    access_counts& at(std::uint64_t offset, std::source_location site) {
        if (offset - last_array_.offset >= last_array_.bytes) look_up(offset);
        const key wanted{site.file_name(), site.line(), last_array_.number};
        if (wanted != last_key_ || last_ == nullptr) {
            last_key_ = wanted;
            last_ = &counts_[wanted];
        }
        return *last_;
    }

    /// @param block global address of its first byte. @param offset of what was wanted of it.
    void note_useless(std::uint64_t block, std::uint64_t offset) {
        if (offset - last_array_.offset >= last_array_.bytes) look_up(offset);
        ++useless_[{block, last_array_.number}];
    }
    std::vector<false_sharing> worst_blocks(std::size_t most) const;

    access_counts total() const;
    /// @param offset where the array begins.
    access_counts of_array(std::uint64_t offset) const;
    std::vector<access_line> lines() const;

private:
    static constexpr std::uint32_t no_array = UINT32_MAX;
    struct place {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        std::uint32_t number = no_array;
    };
    struct key {
        const char* file = nullptr;
        std::uint32_t line = 0;
        std::uint32_t array = no_array;
        bool operator==(const key&) const = default;
    };
    struct hash {
        std::size_t operator()(const key& of) const {
            return std::hash<const char*>()(of.file) * 31 + of.line * 7 + of.array;
        }
    };
    void look_up(std::uint64_t offset);

    const std::vector<named_array>& arrays_;
    std::unordered_map<key, access_counts, hash> counts_;
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t>
        useless_;  ///< by block and array
    place last_array_;
    key last_key_;
    access_counts* last_ = nullptr;
};

}  // namespace selion::coherence
