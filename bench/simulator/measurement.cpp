// SPDX-License-Identifier: Apache-2.0
#include "measurement.hpp"

#include <cstdio>

namespace bench {

row::row(std::string_view operation, std::string_view contestant) {
    add("operation", operation).add("contestant", contestant);
}

row& row::add(std::string_view key, std::string_view text) {
    return add_raw(key, std::string("\"").append(text).append("\""));
}

row& row::add(std::string_view key, double number) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.6g", number);
    return add_raw(key, digits);
}

row& row::add_raw(std::string_view key, std::string_view value) {
    text_.append(text_.empty() ? "\"" : ", \"").append(key).append("\": ").append(value);
    return *this;
}

void row::print() const { std::printf("{%s}\n", text_.c_str()); }

}  // namespace bench
