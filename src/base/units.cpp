// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <fstream>

namespace selion::base {
namespace {

std::optional<double> parse_decimal(std::string_view text, std::string_view& rest) {
    double number = 0;
    const auto [end, trouble] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (trouble != std::errc{} || number < 0 || !std::isfinite(number)) return std::nullopt;
    rest = text.substr(static_cast<std::size_t>(end - text.data()));
    return number;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
    std::string_view suffix;
    const std::optional<double> number = parse_decimal(text, suffix);
    if (!number) return std::nullopt;
    double scale = 1;
    if (!suffix.empty()) {
        constexpr std::string_view letters = "KMGT";
        const char letter =
            suffix.front() >= 'a' ? static_cast<char>(suffix.front() - 'a' + 'A') : suffix.front();
        if (const auto place = letters.find(letter); place != std::string_view::npos) {
            scale = std::ldexp(1.0, 10 * (static_cast<int>(place) + 1));
            suffix.remove_prefix(1);
        }
        for (const std::string_view rest : {"B", "b", "iB", "ib", "IB"}) {
            if (suffix == rest) suffix = {};
        }
    }
    const double bytes = *number * scale;
    if (!suffix.empty() || bytes > 0x1p62) return std::nullopt;
    return static_cast<std::uint64_t>(bytes);
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
    double amount = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (amount >= 1024 && unit + 1 < units.size()) {
        amount /= 1024;
        ++unit;
    }
    return amount == std::floor(amount) ? fmt::format("{:.0f} {}", amount, units[unit])
                                        : fmt::format("{:.1f} {}", amount, units[unit]);
}

std::optional<std::uint64_t> parse_whole(std::string_view text) {
    std::uint64_t number = 0;
    const char* last = text.data() + text.size();
    const auto [end, trouble] = std::from_chars(text.data(), last, number);
    if (text.empty() || trouble != std::errc{} || end != last) return std::nullopt;
    return number;
}

std::optional<std::uint64_t> whole_in_file(const std::string& path) {
    std::ifstream file(path);
    std::string text;
    if (!(file >> text)) return std::nullopt;
    return parse_whole(text);
}

std::optional<double> parse_seconds(std::string_view text) {
    std::string_view rest;
    const std::optional<double> number = parse_decimal(text, rest);
    return number && rest.empty() ? number : std::nullopt;
}

}  // namespace selion::base
