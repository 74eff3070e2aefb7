// SPDX-License-Identifier: Apache-2.0
#include "bad_file.hpp"

#include <cstddef>

namespace em3d {

void reject(const std::string& file, file_place place, const std::string& what) {
    const std::string number = std::to_string(place.number);
    if (place.counted_in == file_place::unit::byte) {
        throw bad_file(file + ": byte " + number + ": " + what);
    }
    throw bad_file(file + ":" + number + ": " + what);
}

std::string in_quotes(std::string_view text) {
    constexpr std::size_t longest = 40;
    constexpr const char* digits = "0123456789abcdef";
    std::string shown = "'";
    for (const char character : text.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(character);
        if (byte >= 0x20 && byte < 0x7f) {
            shown += character;
        } else {
            shown += "\\x";
            shown += digits[byte >> 4];
            shown += digits[byte & 15];
        }
    }
    return shown + (text.size() > longest ? "…'" : "'");
}

}  // namespace em3d
