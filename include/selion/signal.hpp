// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>

#include <selion/detail/rank_context.hpp>
#include <selion/detail/word_access.hpp>
#include <selion/global_ptr.hpp>
#include <selion/put_get.hpp>
#include <selion/time_limit.hpp>

namespace selion {

/// A 64-bit word in the global address space that its owner can wait on and any rank can raise.
/// Allocate it with `allocate<signal>` or as a member of an allocated struct, beside the data that
/// it announces: payload and signal in one 64-byte line arrive together. Zeroed memory is a signal
/// of value 0. Never overwrite one with `put`: use `put_signal` or `notify`.
class signal {
public:
    signal() = default;
    signal(const signal&) = delete;
    signal& operator=(const signal&) = delete;

    detail::shared_word& word() noexcept { return word_; }

private:
    detail::shared_word word_;
};
static_assert(sizeof(signal) == 16);

/// Changes a signal to `value`. Only one rank may set a given signal at a time; values should grow.
/// @cost a plain store: the cheapest notification there is.
constexpr detail::signal_update signal_set(std::uint64_t value) noexcept { return {value, false}; }

/// Adds to a signal; any number of ranks may do so at once. @cost a locked instruction.
constexpr detail::signal_update signal_add(std::uint64_t amount) noexcept { return {amount, true}; }

/// Changes a signal and wakes its owner. All earlier puts of this rank to the owner of the signal
/// are visible to a rank that sees the new value.
inline void notify(global_ptr<signal> target, detail::signal_update update,
                   std::source_location site = std::source_location::current()) {
    detail::check_access(target.bits(), sizeof(signal), alignof(signal), site);
    detail::rank_context& context = *detail::current_context;
    std::byte* address = detail::signal_address(context, target.bits());
    if (address == nullptr) [[unlikely]]
        return detail::signal_slow(target.bits(), update, site);
    detail::raise_word(context, target.bits(), reinterpret_cast<signal*>(address)->word(), update);
}

namespace detail {
/// Data and the signal that announces them belong to one rank.
SELION_API void expect_one_rank(std::uint64_t data, std::uint64_t signal,
                                std::source_location site);
}  // namespace detail

/// Writes a value, then changes the signal: whoever sees the signal sees the value.
/// @pre `target` and `announcement` belong to one rank.
/// @cost two stores where mapped (set); else one message.
template <class T>
inline void put_signal(global_ptr<T> target, const std::type_identity_t<T>& value,
                       global_ptr<signal> announcement, detail::signal_update update,
                       std::source_location site = std::source_location::current()) {
    if (detail::local_address(*detail::current_context, target.bits()) != nullptr) [[likely]] {
        if constexpr (SELION_CHECK_LEVEL >= 2) {
            detail::expect_one_rank(target.bits(), announcement.bits(), site);
        }
        selion::put(target, value, site);
        notify(announcement, update, site);
        return;
    }
    static_assert(transferable<T>, "selion::put_signal moves bytes: T must be trivially copyable");
    static_assert(!std::is_const_v<T>, "selion::put_signal needs a pointer to mutable elements");
    const T copy = value;
    detail::put_signal_slow({target.bits(), &copy, sizeof(T), announcement.bits(), update}, site);
}

/// Writes a span, then changes the signal; as above.
template <class T>
inline void put_signal(global_ptr<T> target, std::span<const std::type_identity_t<T>> source,
                       global_ptr<signal> announcement, detail::signal_update update,
                       std::source_location site = std::source_location::current()) {
    if (detail::local_address(*detail::current_context, target.bits()) != nullptr) [[likely]] {
        if constexpr (SELION_CHECK_LEVEL >= 2) {
            detail::expect_one_rank(target.bits(), announcement.bits(), site);
        }
        selion::put(target, source, site);
        notify(announcement, update, site);
        return;
    }
    static_assert(transferable<T>, "selion::put_signal moves bytes: T must be trivially copyable");
    static_assert(!std::is_const_v<T>, "selion::put_signal needs a pointer to mutable elements");
    detail::put_signal_slow(
        {target.bits(), source.data(), source.size_bytes(), announcement.bits(), update}, site);
}

/// A signal of the caller, and what it is to be at least.
struct awaited_signal {
    global_ptr<signal> own;
    std::uint64_t at_least = 1;
};

namespace detail {
SELION_API void expect_own_signal(std::uint64_t signal, std::source_location site);
SELION_API void wait_signal_slow(std::uint64_t signal, std::uint64_t at_least,
                                 std::source_location site);
SELION_API bool wait_signal_for(std::uint64_t signal, std::uint64_t at_least,
                                std::int64_t timeout_ns, std::source_location site);
SELION_API std::size_t wait_any_signal(std::span<const awaited_signal> which,
                                       std::int64_t timeout_ns, std::source_location site);
SELION_API bool test_signal(std::uint64_t signal, std::uint64_t at_least,
                            std::source_location site);
}  // namespace detail

/// Waits until the caller's own signal is at least `at_least`. Makes progress, lets other ranks of
/// the same carrier run, sleeps when it lasts.
/// @pre `own` points to memory of the calling rank.
inline void wait_until(global_ptr<signal> own, std::uint64_t at_least,
                       std::source_location site = std::source_location::current()) {
    const detail::rank_context& context = *detail::current_context;
    std::byte* const address = detail::local_address(context, own.bits());
    if (address != nullptr && own.rank() == context.rank) {
        const detail::shared_word& word = reinterpret_cast<signal*>(address)->word();
        if (detail::word_arrives_soon(context, word, at_least)) return;
    }
    detail::wait_signal_slow(own.bits(), at_least, site);
}

/// As above, for at most `timeout`. @return whether the signal arrived.
[[nodiscard]] inline bool wait_until(global_ptr<signal> own, std::uint64_t at_least,
                                     time_limit timeout,
                                     std::source_location site = std::source_location::current()) {
    return detail::wait_signal_for(own.bits(), at_least, timeout.nanoseconds(), site);
}

/// Waits, as `wait_until` does, until one of several signals of the caller is at least what is
/// asked of it. A signal keeps its value: who has seen to one asks for more of it the next time, or
/// for the others alone.
/// @return its index, the lowest if there are several.
/// @pre at least one signal; all point to memory of the calling rank.
inline std::size_t wait_any(std::span<const awaited_signal> which,
                            std::source_location site = std::source_location::current()) {
    return detail::wait_any_signal(which, detail::wait_for_ever, site);
}

/// As above, for at most `timeout`. @return the number of signals if none has arrived.
[[nodiscard]] inline std::size_t wait_any(
    std::span<const awaited_signal> which, time_limit timeout,
    std::source_location site = std::source_location::current()) {
    return detail::wait_any_signal(which, timeout.nanoseconds(), site);
}

/// Whether the caller's own signal is at least `at_least`, with the visibility that `wait_until`
/// gives if it is. If it is not, serves what has come and lets other ranks of the same carrier run:
/// a loop of tests comes to its end.
/// @pre as `wait_until`.
[[nodiscard]] inline bool test(global_ptr<signal> own, std::uint64_t at_least,
                               std::source_location site = std::source_location::current()) {
    return detail::test_signal(own.bits(), at_least, site);
}

/// Value of a signal of the caller, with the visibility that `wait_until` gives. A bare look: who
/// looks again and again serves nobody meanwhile, and calls `test`.
[[nodiscard]] inline std::uint64_t read_signal(
    global_ptr<signal> own, std::source_location site = std::source_location::current()) {
    if constexpr (SELION_CHECK_LEVEL >= 2) detail::expect_own_signal(own.bits(), site);
    if (std::byte* address = detail::local_address(*detail::current_context, own.bits()))
        [[likely]] {
        return detail::word_load(reinterpret_cast<signal*>(address)->word());
    }
    return detail::atomic_slow(
        {own.bits(), 0, 0, detail::atomic_operation::load, sizeof(std::uint64_t)}, site);
}

}  // namespace selion
