// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace em3d {

/// A file that cannot be used. `what()` is one sentence that begins with the file's name and the
/// place in it, and says what is wrong there.
class bad_file : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A place in a file: a line (from 1) of text, or a byte (from 0) of binary data.
struct file_place {
    enum class unit : std::uint8_t { line, byte };

    unit counted_in = unit::line;
    std::uint64_t number = 1;
};

[[noreturn]] void reject(const std::string& file, file_place place, const std::string& what);

/// The text in quotes, fit for a one-line message: unprintable bytes as \xNN, the end cut off when
/// it is long.
std::string in_quotes(std::string_view text);

}  // namespace em3d
