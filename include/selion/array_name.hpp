// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace selion {

/// A name of up to 31 characters that is copied with what it names, to other processes as well.
class array_name {
public:
    constexpr array_name() = default;
    constexpr explicit array_name(std::string_view text) noexcept {
        std::copy_n(text.begin(), std::min(text.size(), text_.size() - 1), text_.begin());
    }
    constexpr std::string_view text() const noexcept { return text_.data(); }

private:
    std::array<char, 32> text_ = {};
};

}  // namespace selion
