// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <selion/detail/export.hpp>
#include <selion/detail/incoming_message.hpp>
#include <selion/detail/rank_context.hpp>

/// Functions that messages name. Processes of one program may be mapped at different addresses, so
/// a message names a function by the image (program or library) that it is in, and its distance
/// from the image's start; the target checks both.
namespace selion::detail {

using message_function = void (*)(incoming_message&);

/// Where an image lies in this process, found once when it is loaded.
struct image_place {
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
    std::uint64_t tag = 0;  ///< the same in every process: in the topmost 16 bits
};
SELION_API image_place register_image(const void* inside);

/// One for each image that includes this header.
__attribute__((visibility("hidden"))) inline const char image_anchor = 0;
__attribute__((visibility("hidden"))) inline const image_place own_image =
    register_image(&image_anchor);

/// A function of any image, for those that are not of the caller's.
SELION_API std::uint64_t encode_foreign_function(std::uint64_t address);
SELION_API std::uint64_t decode_foreign_function(std::uint64_t code) noexcept;

inline std::uint64_t encode_function(std::uint64_t address) {
    const std::uint64_t distance = address - own_image.start;
    if (distance >= own_image.bytes) [[unlikely]]
        return encode_foreign_function(address);
    return own_image.tag | distance;
}

/// @return the function's address in this process, or 0: then there is none here.
inline std::uint64_t decode_function(std::uint64_t code) noexcept {
    const std::uint64_t distance = code - own_image.tag;  // large where it is another image's
    if (distance >= own_image.bytes) [[unlikely]]
        return decode_foreign_function(code);
    const std::uint64_t address = own_image.start + distance;
    if (address == 0) __builtin_unreachable();  // spares callers a second test
    return address;
}

template <class Result, class... Arguments>
std::uint64_t encode_function(Result (*function)(Arguments...)) {
    return encode_function(reinterpret_cast<std::uint64_t>(function));
}

}  // namespace selion::detail
