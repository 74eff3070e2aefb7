// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <source_location>

#include <selion/detail/export.hpp>
#include <selion/detail/shared_word.hpp>

namespace selion::detail {

/// What a future and whoever fulfils it share. Recycled by the rank that made it.
struct future_state {
    static constexpr std::size_t near_bytes = 48;

    future_state() = default;
    future_state(const future_state&) = delete;
    future_state& operator=(const future_state&) = delete;

    shared_word word{0, 0, 0};         ///< see future.cpp
    void (*destroy)(void*) = nullptr;  ///< of a value that is there
    /// Makes a value of a length of its own of what has come; null: the value is what has come.
    void (*receive)(future_state&, const std::byte*, std::size_t) = nullptr;
    std::byte* far = nullptr;    ///< place of a value larger than `near_bytes`
    std::function<void()> next;  ///< runs when it is fulfilled
    std::exception_ptr trouble;
    future_state* link = nullptr;         ///< in a list of free ones
    future_state* made_before = nullptr;  ///< of those made for threads that joined the rank
    alignas(16) std::byte near[near_bytes];

    bool is_from_afar = false;  ///< made for one of those
    std::byte* place() { return far != nullptr ? far : near; }
};
/// Values are built where states have room for them.
template <class T>
inline constexpr bool fits_a_state = alignof(T) <= 16;

SELION_API future_state& make_state(std::size_t bytes, std::source_location site);
/// The future lets go of it. @param job whose state it is: what an earlier one had is gone.
SELION_API void drop_state(future_state* state, std::uint32_t job) noexcept;
/// The value, or the trouble, is there: runs what waits for it.
SELION_API void fulfil(future_state& state);
/// Lets `next` run when it is fulfilled. @return false if it is already; then `next` is untouched.
/// @pre there is a state, here and below: the future is neither empty nor taken.
SELION_API bool continue_with(future_state* state, std::function<void()>& next,
                              std::source_location site);
SELION_API bool is_fulfilled(const future_state& state) noexcept;
SELION_API bool await_state(future_state* state, std::int64_t timeout_ns,
                            std::source_location site);

struct state_release {
    void operator()(future_state* state) const noexcept { drop_state(state, job); }
    std::uint32_t job = 0;
};
using state_hold = std::unique_ptr<future_state, state_release>;

}  // namespace selion::detail
