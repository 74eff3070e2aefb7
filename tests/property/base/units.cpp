// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/nearest_name.hpp"

namespace selion::base {
namespace {

RC_GTEST_PROP(units, what_is_told_is_about_what_was_meant, ()) {
    const auto bytes = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 55);
    std::string text = bytes_text(bytes);
    std::erase(text, ' ');
    const std::optional<std::uint64_t> back = parse_bytes(text);
    RC_ASSERT(back.has_value());
    const double error = std::abs(static_cast<double>(*back) - static_cast<double>(bytes));
    RC_ASSERT(error <= 0.051 * static_cast<double>(bytes));
}

RC_GTEST_PROP(units, whole_numbers_come_back, (std::uint64_t number)) {
    RC_ASSERT(parse_whole(std::to_string(number)) == number);
    RC_ASSERT(parse_bytes(std::to_string(number >> 12)) == number >> 12);
}

RC_GTEST_PROP(units, no_text_does_harm, (const std::string& text)) {
    const auto whole = parse_whole(text);
    if (whole) RC_ASSERT(text.find_first_not_of("0123456789") == std::string::npos);
    const auto seconds = parse_seconds(text);
    if (seconds) RC_ASSERT(*seconds >= 0 && std::isfinite(*seconds));
    static_cast<void>(parse_bytes(text));
}

RC_GTEST_PROP(nearest_name, a_legal_name_is_its_own_nearest, ()) {
    const auto names = *rc::gen::container<std::vector<std::string>>(
        rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'e'))));
    const std::vector<std::string_view> views(names.begin(), names.end());
    for (const std::string_view name : views) RC_ASSERT(nearest_name(name, views) == name);
}

}  // namespace
}  // namespace selion::base
