// SPDX-License-Identifier: Apache-2.0
#include "machine/death_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace selion::machine {

error death_of(const detail::rank_context& context, std::uint32_t dead, std::string_view operation,
               std::size_t bytes) {
    return {
        status::rank_dead,
        fmt::format("{}: rank {} of {} is dead", operation, dead, context.ranks),
        {.rank = context.rank, .peer = dead, .operation = std::string(operation), .bytes = bytes}};
}

void throw_death_of(const detail::rank_context& context, std::uint32_t dead,
                    std::string_view operation, std::size_t bytes) {
    take_the_long_way();
    throw death_of(context, dead, operation, bytes);
}

void take_the_long_way() {
    detail::rank_context& caller = *detail::current_context;
    // Threads that are the rank's guests copy it.
    if (caller.bypass_count != 0) caller.bypass_count = caller.own.signal_count = 0;
}

bool death_list::declare(std::uint32_t rank) {
    const std::lock_guard lock(mutex_);
    if (is_dead_[rank].exchange(true, std::memory_order_relaxed)) return false;
    in_order_.push_back(rank);
    declared_.store(static_cast<std::uint32_t>(in_order_.size()), std::memory_order_relaxed);
    return true;
}

std::vector<std::uint32_t> death_list::all_declared() const {
    const std::lock_guard lock(mutex_);
    return in_order_;
}

std::optional<std::uint32_t> death_list::next_untold() const {
    if (told() == declared()) return std::nullopt;
    return told_rank(told());
}

detail::shared_word& death_list::tell_next() {
    detail::word_add_quietly(told_, 1);
    return told_;
}

std::uint32_t death_list::told_rank(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    return in_order_[number];
}

void death_list::note_call(std::uint32_t rank, std::uint64_t set) {
    called_under_[rank].store(set, std::memory_order_relaxed);
}

void death_list::forget_calls(std::uint64_t set) {
    for (std::atomic<std::uint64_t>& one : called_under_) {
        if (one.load(std::memory_order_relaxed) == set) one.store(0, std::memory_order_relaxed);
    }
}

void death_list::lose(std::uint32_t rank, counter* counted) {
    if (counted == nullptr) return;
    const std::lock_guard lock(mutex_);
    lost_.emplace(rank, counted);
}

std::vector<counter*> death_list::take_lost(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    std::vector<counter*> taken;
    for (std::uint64_t i = 0; i < number; ++i) {
        const auto [first, last] = lost_.equal_range(in_order_[i]);
        for (auto one = first; one != last; ++one) taken.push_back(one->second);
        lost_.erase(first, last);
    }
    return taken;
}

std::uint64_t death_list::take_lost_of(const counter& counted) {
    const std::uint64_t told_now = told();
    const std::lock_guard lock(mutex_);
    std::uint64_t taken = 0;
    for (std::uint64_t i = 0; i < told_now; ++i) {
        const auto [first, last] = lost_.equal_range(in_order_[i]);
        for (auto one = first; one != last;) {
            const bool is_it = one->second == &counted;
            taken += is_it ? 1 : 0;
            one = is_it ? lost_.erase(one) : std::next(one);
        }
    }
    return taken;
}

void death_list::expect(std::uint32_t rank, const awaited_answer& what) {
    const std::lock_guard lock(mutex_);
    expected_.emplace(rank, what);
}

bool death_list::settle(std::uint32_t rank, const awaited_answer& what) {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = expected_.equal_range(rank);
    const auto found = std::find_if(first, last, [&](const auto& one) {
        return one.second.counted == what.counted && one.second.result == what.result;
    });
    if (found == last) return false;
    expected_.erase(found);
    return true;
}

void death_list::forget(std::uint32_t rank, const awaited_answer& what) {
    if (settle(rank, what) || what.counted == nullptr) return;
    const std::lock_guard lock(mutex_);
    const auto [first, last] = lost_.equal_range(rank);
    const auto found =
        std::find_if(first, last, [&](const auto& one) { return one.second == what.counted; });
    if (found != last) lost_.erase(found);
}

std::vector<awaited_answer> death_list::take_expected(std::uint32_t rank) {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = expected_.equal_range(rank);
    std::vector<awaited_answer> taken;
    for (auto one = first; one != last; ++one) taken.push_back(one->second);
    expected_.erase(first, last);
    return taken;
}

}  // namespace selion::machine
