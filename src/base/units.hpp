// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace selion::base {

/// Bytes named by "4096", "64K", "1.5G" or "2T" (binary multiples, optional "B" or "iB" behind).
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// "512 B", "64 KiB", "1.5 GiB".
std::string bytes_text(std::uint64_t bytes);

/// A whole number without sign, or nothing.
std::optional<std::uint64_t> parse_whole(std::string_view text);

/// What a file of the kernel begins with, if that is such a number.
std::optional<std::uint64_t> whole_in_file(const std::string& path);

/// Seconds as a decimal number ("0.5", "60"), not negative.
std::optional<double> parse_seconds(std::string_view text);

}  // namespace selion::base
