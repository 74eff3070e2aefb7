// SPDX-License-Identifier: Apache-2.0
#include "text_lines.hpp"

#include <algorithm>
#include <cstddef>

namespace em3d {

std::string_view text_lines::next() {
    const std::size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    ++number_;
    return line;
}

std::string_view take_word(std::string_view& line) {
    constexpr std::string_view blanks = " \t\r\v\f";
    const std::size_t begin = std::min(line.find_first_not_of(blanks), line.size());
    const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

}  // namespace em3d
