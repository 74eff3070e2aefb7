// SPDX-License-Identifier: Apache-2.0
/// Changes are runs of words that have changed: the number of the first one and how many they are,
/// then for each a byte that says which of its bytes have changed, then the words. A run of no
/// words fills them up to whole words, which is what messages carry.
#include "coherence/written_blocks.hpp"

#include <algorithm>
#include <cstring>

namespace selion::coherence {
namespace {

struct run_head {
    std::uint16_t first;
    std::uint16_t words;
};

constexpr std::uint64_t ones = 0x0101010101010101;  ///< 1 in each byte
constexpr std::uint64_t lower = 0x7f * ones;        ///< all bits of each byte but the highest
constexpr std::uint64_t highest = 0x80 * ones;

std::uint64_t load(const std::byte* from) {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof word);
    return word;
}
void store(std::byte* to, std::uint64_t word) { std::memcpy(to, &word, sizeof word); }

/// 1 in each byte that is not 0.
std::uint64_t nonzero_bytes(std::uint64_t word) {
    return ((((word & lower) + lower) | word) & highest) >> 7;
}

/// A bit for each byte that is not 0, from the lowest on.
std::uint8_t bits_of(std::uint64_t word) {
    constexpr std::uint64_t gather = 0x0102040810204080;  // moves byte i's lowest bit to 56 + i
    return static_cast<std::uint8_t>((nonzero_bytes(word) * gather) >> 56);
}

/// All bits of the bytes that have their bit in `which`.
std::uint64_t bytes_of(std::uint8_t which) {
    constexpr std::uint64_t one_each = 0x8040201008040201;  // bit i in byte i
    return nonzero_bytes(which * ones & one_each) * 0xff;
}

std::uint64_t blend(std::uint64_t old, std::uint64_t changed, std::uint64_t where) {
    return (old & ~where) | (changed & where);
}

void append(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
    const auto* const first = static_cast<const std::byte*>(from);
    to.insert(to.end(), first, first + bytes);
}

}  // namespace

const std::byte* written_blocks::before(std::uint64_t block) const {
    const auto found = twins_.find(block);
    return found == twins_.end() ? nullptr : found->second.before.get();
}

void written_blocks::open(std::uint64_t block, const std::byte* here) {
    const std::size_t bytes = words_ * word_bytes;
    std::unique_ptr<std::byte[]>& before = twins_[block].before;
    before = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::memcpy(before.get(), here, bytes);
}

std::vector<std::uint64_t> written_blocks::all_open() const {
    std::vector<std::uint64_t> found;
    for (const auto& [block, mine] : twins_) {
        if (mine.before != nullptr) found.push_back(block);
    }
    std::ranges::sort(found);
    return found;
}

std::vector<std::byte> written_blocks::close(std::uint64_t block, const std::byte* here,
                                             std::optional<std::uint32_t> round) {
    twin& mine = twins_[block];
    const std::unique_ptr<std::byte[]> before = std::move(mine.before);
    marks changed(words_);
    std::vector<std::byte> changes;
    std::size_t word = 0;
    while (word < words_) {
        const std::size_t first = word;
        for (; word < words_; ++word) {
            const std::size_t place = word * word_bytes;
            changed[word] = bits_of(load(here + place) ^ load(before.get() + place));
            if (changed[word] == 0) break;
        }
        if (word == first) {
            ++word;
            continue;
        }
        const run_head head{static_cast<std::uint16_t>(first),
                            static_cast<std::uint16_t>(word - first)};
        append(changes, &head, sizeof head);
        append(changes, &changed[first], word - first);
        append(changes, here + first * word_bytes, (word - first) * word_bytes);
    }
    changes.resize((changes.size() + word_bytes - 1) / word_bytes * word_bytes);
    if (!changes.empty() && round) mine.under_way.push_back({*round, std::move(changed)});
    if (mine.under_way.empty()) twins_.erase(block);
    return changes;
}

void written_blocks::forget(std::uint64_t block, std::uint32_t round) {
    const auto found = twins_.find(block);
    twin& mine = found->second;
    std::erase_if(mine.under_way, [&](const sent_bytes& one) { return one.round == round; });
    if (mine.under_way.empty() && mine.before == nullptr) twins_.erase(found);
}

std::uint8_t written_blocks::twin::bytes_under_way(std::size_t word) const {
    std::uint8_t all = 0;
    for (const sent_bytes& one : under_way) all |= one.which[word];
    return all;
}

void written_blocks::merge_word(twin* mine, std::size_t word, std::byte* here, std::uint8_t which,
                                const std::byte* changed) const {
    const std::size_t place = word * word_bytes;
    const std::uint64_t news = load(changed);
    const std::uint64_t old = load(here + place);
    std::uint64_t where = bytes_of(which);
    if (mine != nullptr) where &= ~bytes_of(mine->bytes_under_way(word));
    if (mine != nullptr && mine->before != nullptr) {
        std::byte* const before = mine->before.get() + place;
        const std::uint64_t own = nonzero_bytes(old ^ load(before)) * 0xff;
        store(before, blend(load(before), news, where));
        where &= ~own;
    }
    store(here + place, blend(old, news, where));
}

void written_blocks::merge(std::uint64_t block, std::byte* here,
                           std::span<const std::byte> changes) {
    const auto found = twins_.find(block);
    twin* const mine = found == twins_.end() ? nullptr : &found->second;
    while (changes.size() > sizeof(run_head)) {
        run_head head;
        std::memcpy(&head, changes.data(), sizeof head);
        if (head.words == 0) return;
        const auto which = changes.subspan(sizeof head, head.words);
        const auto words = changes.subspan(sizeof head + head.words, head.words * word_bytes);
        for (std::size_t i = 0; i < head.words; ++i) {
            merge_word(mine, head.first + i, here, std::to_integer<std::uint8_t>(which[i]),
                       words.data() + i * word_bytes);
        }
        changes = changes.subspan(sizeof head + head.words * (1 + word_bytes));
    }
}

}  // namespace selion::coherence
