// SPDX-License-Identifier: Apache-2.0
#include "coherence/replayed_blocks.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace selion::coherence {

void word_history::write(std::uint32_t home, std::uint64_t place, std::uint64_t bytes) {
    std::vector<std::uint64_t>& of_home = written_[home];
    if (of_home.empty()) of_home.assign((bytes_ + word_bytes - 1) / word_bytes, 0);
    const std::uint64_t last = (place + bytes - 1) / word_bytes;
    for (std::uint64_t word = place / word_bytes; word <= last; ++word) of_home[word] = now_;
}

bool word_history::is_written_since(std::uint64_t then, std::uint32_t home, std::uint64_t place,
                                    std::uint64_t bytes) const {
    const std::vector<std::uint64_t>& of_home = written_[home];
    if (of_home.empty()) return false;
    const std::uint64_t last = (place + bytes - 1) / word_bytes;
    for (std::uint64_t word = place / word_bytes; word <= last; ++word) {
        if (of_home[word] >= then) return true;
    }
    return false;
}

/// A part of an access that lies in one block.
struct replayed_blocks::piece {
    const replayed_access& whole;
    std::uint64_t place;
    std::uint64_t bytes;

    bool is_at_home() const { return whole.rank == whole.home; }
};

void replayed_blocks::access(const replayed_access& one, const word_history& words) {
    if (one.array >= counts_.size()) counts_.resize(one.array + 1);
    replayed_array& counts = counts_[one.array];
    counts.block_bytes = block_bytes_;
    ++counts.accesses;
    counts.remote_accesses += one.rank != one.home ? 1 : 0;
    for (std::uint64_t done = 0; done < one.bytes;) {
        const std::uint64_t place = one.place + done;
        const std::uint64_t left = block_bytes_ - place % block_bytes_;
        const std::uint64_t bytes = std::min(left, one.bytes - done);
        access_block({one, place, bytes}, counts, words);
        done += bytes;
    }
}

void replayed_blocks::access_block(const piece& one, replayed_array& counts,
                                   const word_history& words) {
    auto& of_home = blocks_[one.whole.home];
    const std::uint64_t number = one.place / block_bytes_;
    const auto found = of_home.find(number);
    if (found == of_home.end() && one.is_at_home()) return;  // nobody else has ever had it
    block& of = found == of_home.end() ? of_home[number] : found->second;
    if (one.whole.is_write) {
        write(of, one, counts, words);
    } else {
        read(of, one, counts, words);
    }
}

void replayed_blocks::fetch_from_owner(block& of, replayed_array& counts) const {
    if (of.owner == nobody) return;
    counts.messages += 2;
    counts.moved_bytes += block_bytes_;
}

/// Of a rank that has no copy.
void replayed_blocks::note_cause(block& of, const piece& one, replayed_array& counts,
                                 const word_history& words) {
    const auto lost = of.lost.find(one.whole.rank);
    if (lost == of.lost.end()) {
        ++counts.cold;
    } else if (words.is_written_since(lost->second, one.whole.home, one.place, one.bytes)) {
        ++counts.invalidated;
    } else {
        ++counts.false_sharing;
        ++of.false_sharing;
    }
    counts.messages += 2;
    counts.moved_bytes += block_bytes_;
}

void replayed_blocks::read(block& of, const piece& one, replayed_array& counts,
                           const word_history& words) {
    const std::uint32_t rank = one.whole.rank;
    const bool has_it =
        one.is_at_home()
            ? of.owner == nobody
            : of.owner == rank || std::ranges::find(of.sharers, rank) != of.sharers.end();
    if (has_it) return;
    if (one.is_at_home()) {
        ++counts.at_home;
    } else {
        note_cause(of, one, counts, words);
    }
    fetch_from_owner(of, counts);
    if (of.owner != nobody) of.sharers.push_back(std::exchange(of.owner, nobody));
    if (!one.is_at_home()) of.sharers.push_back(rank);
}

void replayed_blocks::write(block& of, const piece& one, replayed_array& counts,
                            const word_history& words) {
    const std::uint32_t rank = one.whole.rank;
    const bool could_read = std::erase(of.sharers, rank) != 0;
    const bool is_alone = of.owner == nobody && of.sharers.empty();
    if (of.owner == rank || (one.is_at_home() && is_alone)) return;
    if (one.is_at_home()) {
        ++counts.at_home;
    } else if (could_read) {
        ++counts.upgrades;
        counts.messages += 2;
    } else {
        note_cause(of, one, counts, words);
    }
    fetch_from_owner(of, counts);
    if (of.owner != nobody) of.lost[of.owner] = words.now();
    counts.messages += 2 * of.sharers.size();
    for (const std::uint32_t other : of.sharers) of.lost[other] = words.now();
    of.sharers.clear();
    of.owner = one.is_at_home() ? nobody : rank;
}

std::vector<false_sharing> replayed_blocks::worst(std::size_t most) const {
    std::vector<false_sharing> all;
    for (std::uint32_t home = 0; home < blocks_.size(); ++home) {
        for (const auto& [number, of] : blocks_[home]) {
            if (of.false_sharing == 0) continue;
            all.push_back({.array = {},
                           .offset = number * block_bytes_,
                           .home = home,
                           .useless_misses = of.false_sharing});
        }
    }
    std::ranges::sort(all, {}, [](const false_sharing& one) {
        return std::tuple(~one.useless_misses, one.home, one.offset);
    });
    if (all.size() > most) all.resize(most);
    return all;
}

}  // namespace selion::coherence
