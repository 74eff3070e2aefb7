// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "selion/detail/word_access.hpp"
#include "selion/error.hpp"

namespace selion {
class counter;
}

namespace selion::detail {
struct future_state;
}

namespace selion::machine {

/// What an operation of a rank throws because another one is dead.
error death_of(const detail::rank_context& context, std::uint32_t dead,
               std::string_view operation = "an operation under way", std::size_t bytes = 0);
/// The same, thrown. The calling thread has been told then: it takes the long way.
[[noreturn]] void throw_death_of(const detail::rank_context& context, std::uint32_t dead,
                                 std::string_view operation = "an operation under way",
                                 std::size_t bytes = 0);
/// Inline operations do not ask who is dead: from now on the calling thread has none. Of a copy of
/// its context nothing is remembered.
void take_the_long_way();

/// What a rank's message has asked another one to answer.
struct awaited_answer {
    counter* counted = nullptr;              ///< counts then
    detail::future_state* result = nullptr;  ///< or has its value then
};

/// The ranks that have died while the job goes on, as one process knows them, and what it still
/// expects of others. A rank is declared dead at once, by any thread; it is told to those who wait
/// when what was under way to it has been settled.
class death_list {
public:
    explicit death_list(std::uint32_t ranks) : is_dead_(ranks), called_under_(ranks) {}

    /// From now on the rank is dead. @return whether that is new.
    bool declare(std::uint32_t rank);
    bool is_dead(std::uint32_t rank) const {
        return is_dead_[rank].load(std::memory_order_relaxed);
    }
    std::uint32_t declared() const { return declared_.load(std::memory_order_relaxed); }
    /// In the order in which they were declared.
    std::vector<std::uint32_t> all_declared() const;
    std::uint32_t ranks() const { return static_cast<std::uint32_t>(is_dead_.size()); }

    /// The next one that is declared and not told. One thread at a time.
    std::optional<std::uint32_t> next_untold() const;
    /// It is settled. @return the word that has grown, for whoever sleeps on it to be woken.
    detail::shared_word& tell_next();
    /// Grows with each death that is told.
    detail::shared_word& word() { return told_; }
    std::uint64_t told() const { return detail::word_load(told_); }
    /// @param number below `told()`.
    std::uint32_t told_rank(std::uint64_t number) const;

    /// Operations on a rank that it has not lived to see, and so nobody counts: they count when
    /// the rank's death is acknowledged.
    void lose(std::uint32_t rank, counter* counted);
    /// @param number of deaths, the first that were told. @return those lost to these, each once.
    std::vector<counter*> take_lost(std::uint64_t number);
    /// The same of one counter. @return how often
    std::uint64_t take_lost_of(const counter& counted);

    /// A rank owes an answer; it has come, or it is not expected any more.
    void expect(std::uint32_t rank, const awaited_answer& what);
    /// @return whether it was expected.
    bool settle(std::uint32_t rank, const awaited_answer& what);
    /// The call that wanted the answer has failed: it is neither expected, nor counted as lost.
    void forget(std::uint32_t rank, const awaited_answer& what);
    /// All that a rank owes; nothing is expected of it any more.
    std::vector<awaited_answer> take_expected(std::uint32_t rank);

    /// A rank looks for those who live, under the name of a set of the dead: it takes part in
    /// nothing else until they come.
    void note_call(std::uint32_t rank, std::uint64_t set);
    bool has_called(std::uint32_t rank) const {
        return called_under_[rank].load(std::memory_order_relaxed) != 0;
    }
    /// They have come together under that name.
    void forget_calls(std::uint64_t set);
    /// Grows with each call.
    detail::shared_word& calls() { return calls_; }

    /// What handlers have asked of dead ranks.
    void drop() { dropped_.fetch_add(1, std::memory_order_relaxed); }
    std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

private:
    mutable std::mutex mutex_;
    std::vector<std::atomic<bool>> is_dead_;
    std::vector<std::uint32_t> in_order_;
    std::atomic<std::uint32_t> declared_ = 0;
    detail::shared_word told_{};
    std::vector<std::atomic<std::uint64_t>> called_under_;  ///< of each rank; 0: it has not
    detail::shared_word calls_{};
    std::multimap<std::uint32_t, counter*> lost_;
    std::multimap<std::uint32_t, awaited_answer> expected_;
    std::atomic<std::uint64_t> dropped_ = 0;
};

}  // namespace selion::machine
