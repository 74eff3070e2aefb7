// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>

#include <selion/detail/rank_context.hpp>
#include <selion/detail/word_access.hpp>
#include <selion/global_ptr.hpp>
#include <selion/time_limit.hpp>

namespace selion {

class counter;

namespace detail {

/// None of them is null.
SELION_API void expect_counters(std::span<counter* const> which, const char* call,
                                std::source_location site);
SELION_API void claim_counter(rank_context& context, counter& which, std::source_location site);
SELION_API bool wait_counter(counter& which, std::uint64_t count, std::int64_t timeout_ns,
                             std::source_location site);
SELION_API std::size_t wait_any_counter(std::span<counter* const> which, std::uint64_t count,
                                        std::int64_t timeout_ns, std::source_location site);
SELION_API void count_together(rank_context& context, shared_word& word);
SELION_API bool test_counter(counter& which, std::uint64_t count, std::source_location site);

/// Waits for what deaths have not ended, where they do not end the job. For destructors.
SELION_API void drain_counter(counter& which, std::uint64_t count,
                              std::source_location site) noexcept;

/// Waits for what counts on a counter that goes away when this returns, or throws: also of a death,
/// nothing counts on it any more.
SELION_API void wait_for_last(counter& which, std::uint64_t count, std::source_location site);

}  // namespace detail

/// Counts operations that have come so far: as *origin* counter those whose source may be reused,
/// as *target* counter those whose data are there, as *completion* counter those that are both. One
/// counter may count any number of operations, of any kinds.
///
/// An origin or completion counter may lie anywhere in the memory of the rank that starts the
/// operation, and must live until the operation is complete. A target counter lies in the target's
/// part of the global address space: `allocate<counter>(world, 1)`. Zeroed memory is a counter of
/// value 0. Only the owner waits, tests and sets, and of its threads one at a time.
class counter {
public:
    counter() = default;
    counter(const counter&) = delete;
    counter& operator=(const counter&) = delete;

    /// Operations counted and not yet waited for. Makes no progress and takes no time.
    std::int64_t value() const noexcept {
        return static_cast<std::int64_t>(detail::word_load(word_) + own_ - taken_);
    }

    /// Gives it a value, whatever it has counted; what is still under way counts from there.
    void set(std::int64_t value) noexcept {
        taken_ = detail::word_load(word_) + own_ - static_cast<std::uint64_t>(value);
    }

    /// Waits until the value is at least `count`, then subtracts `count`. Makes progress.
    void wait(std::uint64_t count = 1,
              std::source_location site = std::source_location::current()) {
        if (take(count)) return;
        static_cast<void>(detail::wait_counter(*this, count, detail::wait_for_ever, site));
    }

    /// The same for at most `timeout`. @return whether it was reached; if not, nothing is
    /// subtracted.
    [[nodiscard]] bool wait(std::uint64_t count, time_limit timeout,
                            std::source_location site = std::source_location::current()) {
        return take(count) || detail::wait_counter(*this, count, timeout.nanoseconds(), site);
    }

    /// Makes progress once; subtracts `count` if the value has reached it.
    /// @return whether it had.
    [[nodiscard]] bool test(std::uint64_t count = 1,
                            std::source_location site = std::source_location::current()) {
        return take(count) || detail::test_counter(*this, count, site);
    }

    /// More than any counter can count: who waits for that has counted wrongly.
    static constexpr std::uint64_t most_counted = INT64_MAX;

private:
    friend struct counter_access;

    /// Takes what has been counted already, by operations of the job that runs now.
    bool take(std::uint64_t count) noexcept {
        if (value() < static_cast<std::int64_t>(count)) return false;
        if (word_.note != detail::current_context->job && word_.note != 0) [[unlikely]]
            return false;
        if (count > most_counted) [[unlikely]]
            return false;
        taken_ += count;
        return true;
    }

    /// What others have counted; its `note` names the job that the counter belongs to.
    detail::shared_word word_{0, 0, 0};
    std::uint64_t own_ = 0;    ///< what the owner's thread has counted within its calls
    std::uint64_t taken_ = 0;  ///< what has been waited for
};
static_assert(sizeof(counter) == 32);

/// Waits until one of several counters has reached `count`, and subtracts it there.
/// @return its index, the lowest if there are several.
/// @pre at least one counter.
inline std::size_t wait_any(std::span<counter* const> which, std::uint64_t count = 1,
                            std::source_location site = std::source_location::current()) {
    return detail::wait_any_counter(which, count, detail::wait_for_ever, site);
}
/// The same for at most `timeout`. @return the number of counters if none has reached it.
[[nodiscard]] inline std::size_t wait_any(
    std::span<counter* const> which, std::uint64_t count, time_limit timeout,
    std::source_location site = std::source_location::current()) {
    return detail::wait_any_counter(which, count, timeout.nanoseconds(), site);
}

/// Waits until each of several counters has reached `count`, and subtracts it everywhere.
inline void wait_all(std::span<counter* const> which, std::uint64_t count = 1,
                     std::source_location site = std::source_location::current()) {
    detail::expect_counters(which, "wait_all", site);
    for (counter* one : which) one->wait(count, site);
}

/// Which counters one operation counts on; any of them may be missing.
struct counters {
    counter* origin = nullptr;        ///< source reusable; of a get: data here
    global_ptr<counter> target = {};  ///< data there; of a get: source read
    counter* completion = nullptr;    ///< both

    bool are_none() const noexcept { return origin == nullptr && !target && completion == nullptr; }
};

/// How operations reach a counter.
struct counter_access {
    static detail::shared_word& word(counter& which) noexcept { return which.word_; }
    static std::uint64_t& own(counter& which) noexcept { return which.own_; }
    static std::uint64_t& taken(counter& which) noexcept { return which.taken_; }
    static bool take(counter& which, std::uint64_t count) noexcept { return which.take(count); }
};

namespace detail {

/// An operation of the calling rank is as far as the counter counts, within its own call.
inline void count_here(rank_context& context, counter* which, std::source_location site) {
    if (which == nullptr) return;
    shared_word& word = counter_access::word(*which);
    if (word.note != context.job) [[unlikely]]
        claim_counter(context, *which, site);
    if (context.own.counts_alone) [[likely]] {
        ++counter_access::own(*which);
    } else {
        count_together(context, word);
    }
}

}  // namespace detail

}  // namespace selion
