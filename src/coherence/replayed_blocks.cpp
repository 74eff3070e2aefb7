// SPDX-License-Identifier: Apache-2.0
#include "coherence/replayed_blocks.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace selion::coherence {

void word_history::write(std::uint32_t home, std::uint64_t place, std::uint64_t bytes) {
    const std::uint64_t last = (place + bytes - 1) / word_bytes;
    for (std::uint64_t word = place / word_bytes; word <= last; ++word) {
        std::unique_ptr<page>& of_word = written_[home][word / words_of_page];
        if (of_word == nullptr) of_word = std::make_unique<page>();
        (*of_word)[word % words_of_page] = now_;
    }
}

bool word_history::is_written_since(std::uint64_t then, std::uint32_t home, std::uint64_t place,
                                    std::uint64_t bytes) const {
    const auto& of_home = written_[home];
    const std::uint64_t last = (place + bytes - 1) / word_bytes;
    for (std::uint64_t word = place / word_bytes; word <= last; ++word) {
        const auto found = of_home.find(word / words_of_page);
        if (found != of_home.end() && (*found->second)[word % words_of_page] >= then) return true;
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
    take_back(of, counts);
    if (one.whole.is_write) {
        write(of, one, counts, words);
    } else {
        read(of, one, counts, words);
    }
}

void replayed_blocks::take_back(block& of, replayed_array& counts) const {
    if (of.owner != nobody && flushed_[of.owner] >= of.owned_since) {
        ++counts.messages;
        counts.moved_bytes += block_bytes_;
        of.lost.erase(std::exchange(of.owner, nobody));
    }
    std::erase_if(of.sharers, [&](const sharer& one) {
        const bool is_given_up = dropped_[one.rank] >= one.since;
        if (is_given_up) of.lost.erase(one.rank);
        return is_given_up;
    });
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
        ++useless_[{one.whole.home, one.place / block_bytes_, one.whole.array}];
    }
    counts.messages += 2;
    counts.moved_bytes += block_bytes_;
}

void replayed_blocks::read(block& of, const piece& one, replayed_array& counts,
                           const word_history& words) {
    const std::uint32_t rank = one.whole.rank;
    const bool has_it =
        one.is_at_home() ? of.owner == nobody
                         : of.owner == rank || std::ranges::find(of.sharers, rank, &sharer::rank) !=
                                                   of.sharers.end();
    if (has_it) return;
    if (one.is_at_home()) {
        ++counts.at_home;
    } else {
        note_cause(of, one, counts, words);
    }
    fetch_from_owner(of, counts);
    if (of.owner != nobody) of.sharers.push_back({std::exchange(of.owner, nobody), words.now()});
    if (!one.is_at_home()) of.sharers.push_back({rank, words.now()});
}

void replayed_blocks::write(block& of, const piece& one, replayed_array& counts,
                            const word_history& words) {
    const std::uint32_t rank = one.whole.rank;
    const bool could_read =
        std::erase_if(of.sharers, [&](const sharer& other) { return other.rank == rank; }) != 0;
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
    for (const sharer& other : of.sharers) of.lost[other.rank] = words.now();
    of.sharers.clear();
    of.owner = one.is_at_home() ? nobody : rank;
    of.owned_since = words.now();
}

std::vector<replayed_blocks::shared_falsely> replayed_blocks::worst(std::size_t most) const {
    std::vector<shared_falsely> all;
    for (const auto& [where, misses] : useless_) {
        const auto& [home, number, array] = where;
        all.push_back({array, number * block_bytes_, home, misses});
    }
    std::ranges::stable_sort(all, std::ranges::greater(), &shared_falsely::misses);
    if (all.size() > most) all.resize(most);
    return all;
}

}  // namespace selion::coherence
