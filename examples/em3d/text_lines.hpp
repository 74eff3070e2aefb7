// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace em3d {

/// Walks over the lines of a text; a line ends with LF or CR LF.
class text_lines {
public:
    explicit text_lines(std::string_view text) : rest_(text) {}

    bool at_end() const { return rest_.empty(); }
    /// The next line without its end. @pre `!at_end()`.
    std::string_view next();
    /// Number of the line that `next` returned last, from 1.
    std::uint64_t number() const { return number_; }
    /// What follows the last line that `next` returned.
    std::string_view rest() const { return rest_; }

private:
    std::string_view rest_;
    std::uint64_t number_ = 0;
};

/// Takes the next word off the front of `line`; empty when there is none.
std::string_view take_word(std::string_view& line);

/// The whole word as a number; nothing if it is not one or out of the type's range. Never depends
/// on the locale.
template <class Number>
std::optional<Number> to_number(std::string_view word) {
    if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
    Number number{};
    const auto [end, trouble] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (trouble != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    return number;
}

}  // namespace em3d
