// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string_view>
#include <vector>

#include "dice.hpp"
#include "register_history.hpp"

/// Whether the check of histories tells good ones from bad ones.
namespace coherent_order::self_test {

inline access read(std::uint32_t rank, std::uint64_t value, std::int64_t begin, std::int64_t end) {
    return {begin, end, value, 0, rank, 0, true, false};
}
inline access write(std::uint32_t rank, std::uint64_t value, std::int64_t begin, std::int64_t end) {
    return {begin, end, 0, value, rank, 0, false, true};
}
inline access change(std::uint32_t rank, std::uint64_t before, std::uint64_t after,
                     std::int64_t begin, std::int64_t end) {
    return {begin, end, before, after, rank, 0, true, true};
}

struct sample {
    const char* name;
    const char* words;  ///< of the sentence; empty: the history is good
    std::vector<access> history;
};

inline std::vector<sample> good_samples() {
    return {
        {"nothing", "", {}},
        {"reads of the first value", "", {read(0, 0, 1, 2), read(1, 0, 5, 6)}},
        {"a read beside a write, old", "", {write(0, 7, 1, 9), read(1, 0, 3, 4)}},
        {"a read beside a write, new", "", {write(0, 7, 1, 9), read(1, 7, 3, 4)}},
        {"old then new beside a write",
         "",
         {write(0, 7, 1, 9), read(1, 0, 2, 3), read(1, 7, 4, 5)}},
        {"two writes beside each other",
         "",
         {write(0, 7, 1, 9), write(1, 8, 1, 9), read(2, 8, 10, 11), read(2, 8, 12, 13)}},
        {"a chain of changes",
         "",
         {write(0, 7, 1, 2), change(1, 7, 8, 3, 9), change(2, 8, 9, 3, 9), read(0, 7, 3, 4),
          read(0, 9, 10, 11)}},
    };
}

inline std::vector<sample> bad_samples() {
    return {
        {"a value from nowhere", "nobody has written", {write(0, 7, 1, 2), read(1, 8, 3, 4)}},
        {"a stale read", "neither value", {write(0, 7, 1, 2), read(1, 0, 3, 4)}},
        {"a read of a replaced value",
         "neither value",
         {write(0, 7, 1, 2), write(0, 8, 3, 4), read(1, 7, 5, 6)}},
        {"a read of the future", "comes after", {read(1, 7, 1, 2), write(0, 7, 3, 4)}},
        {"new then old", "neither value", {write(0, 7, 1, 9), read(1, 7, 2, 3), read(1, 0, 4, 5)}},
        {"two readers see two orders",
         "neither value",
         {write(0, 7, 1, 20), write(1, 8, 1, 20), read(2, 7, 2, 3), read(2, 8, 4, 5),
          read(3, 8, 2, 3), read(3, 7, 4, 5)}},
        {"a lost change",
         "replaced by",
         {write(0, 7, 1, 2), change(1, 7, 8, 3, 9), change(2, 7, 9, 3, 9)}},
        {"two changes with one result",
         "comes from",
         {write(0, 7, 1, 2), change(1, 7, 8, 3, 9), change(2, 7, 8, 3, 9)}},
        {"a write within a change",
         "neither value",
         {write(0, 7, 1, 2), change(1, 7, 8, 3, 20), write(2, 9, 4, 5), read(3, 7, 6, 7),
          read(3, 9, 8, 9), read(0, 8, 21, 22)}},
        {"a change before what it has read",
         "comes after",
         {change(1, 7, 8, 1, 2), write(0, 7, 3, 4)}},
        {"changes in a ring", "from each other", {change(0, 8, 7, 1, 9), change(1, 7, 8, 1, 9)}},
    };
}

/// @return how many samples the check takes for something else.
inline int check_samples(const std::vector<sample>& samples) {
    int wrong = 0;
    for (const sample& one : samples) {
        const std::string_view words = one.words;
        const std::string found = register_history(one.history).fault();
        const bool is_right =
            words.empty() ? found.empty() : found.find(words) != std::string::npos;
        if (is_right) continue;
        ++wrong;
        std::fprintf(stderr, "coherent_order: %s: \"%s\" instead of \"%s\"\n", one.name,
                     found.c_str(), one.words);
    }
    return wrong;
}

/// Tries all orders. @param left bits of the accesses that are not yet in order.
inline bool can_be_ordered(const std::vector<access>& history, unsigned left, std::uint64_t now) {
    if (left == 0) return true;
    for (std::size_t i = 0; i < history.size(); ++i) {
        const access& next = history[i];
        bool is_possible = (left >> i & 1) != 0 && (!next.reads || next.read == now);
        for (std::size_t j = 0; j < history.size(); ++j) {
            is_possible = is_possible && !((left >> j & 1) != 0 && ends_before(history[j], next));
        }
        const std::uint64_t after = next.writes ? next.written : now;
        if (is_possible && can_be_ordered(history, left & ~(1u << i), after)) return true;
    }
    return false;
}

inline std::vector<access> any_history(dice& random) {
    const std::uint64_t count = 1 + random.below(6);
    std::vector<access> history;
    for (std::uint64_t i = 1; i <= count; ++i) {
        const auto begin = static_cast<std::int64_t>(random.below(20));
        const auto end = begin + static_cast<std::int64_t>(1 + random.below(12));
        const std::uint64_t value = (i + 1 + random.below(count)) % (count + 1);  // not its own
        const auto rank = static_cast<std::uint32_t>(i);
        const std::uint64_t kind = random.below(3);
        history.push_back(kind == 0   ? read(rank, random.one_in(2) ? 0 : value, begin, end)
                          : kind == 1 ? write(rank, i, begin, end)
                                      : change(rank, value, i, begin, end));
    }
    return history;
}

/// @return how many small histories the check and the trial of all orders judge differently.
inline int check_against_all_orders() {
    dice random(1);
    int wrong = 0;
    int good = 0;
    constexpr int histories = 30'000;
    for (int i = 0; i < histories; ++i) {
        const std::vector<access> history = any_history(random);
        const bool is_good = can_be_ordered(history, (1u << history.size()) - 1, 0);
        good += is_good;
        const std::string found = register_history(history).fault();
        if (found.empty() != is_good && ++wrong < 10) {
            std::fprintf(stderr, "coherent_order: random history %d: \"%s\"\n", i, found.c_str());
        }
    }
    std::printf("%d random histories can be ordered, %d cannot\n", good, histories - good);
    const bool has_both = good > histories / 20 && good < histories / 20 * 19;
    return has_both ? wrong : wrong + 1;
}

/// @return whether the check is right.
inline bool run() {
    const int wrong =
        check_samples(good_samples()) + check_samples(bad_samples()) + check_against_all_orders();
    std::printf("%d histories are judged wrongly\n", wrong);
    return wrong == 0;
}

}  // namespace coherent_order::self_test
