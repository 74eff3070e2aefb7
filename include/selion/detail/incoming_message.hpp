// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <selion/message_info.hpp>

namespace selion::detail {

/// Most bytes of arguments that stand beside a message.
inline constexpr std::size_t most_argument_bytes = 80;

/// Arguments travel in whole words; who sends fewer bytes has room for the rest.
constexpr std::size_t in_whole_words(std::size_t bytes) {
    constexpr std::size_t word = sizeof(std::uint64_t);
    return (bytes + word - 1) / word * word;
}

/// A message at its target. What it points to lives until its function returns.
struct incoming_message {
    message_info about;
    std::uint16_t kind;  ///< as the sender's floor likes; 0: nothing but a function and arguments
    std::uint64_t handler;
    std::span<const std::byte> arguments;  ///< for the function: its own, the last ones
    std::uint64_t state = 0;  ///< of the future that waits for the result, at the origin; 0: none
    /// What the function leaves to be called where it may wait; null: nothing.
    void (*completion)(void*) = nullptr;
    void* completion_argument = nullptr;
};

}  // namespace selion::detail
