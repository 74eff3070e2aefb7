// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <selion/detail/export.hpp>

namespace selion::detail {

/// An exception of a script on its way through the library: reports name it as the script does.
class SELION_API script_exception : public std::exception {
public:
    /// @param words "ValueError: no such colour", or a type alone
    explicit script_exception(std::string_view words) {
        constexpr std::string_view separator = ": ";
        const std::size_t end = words.find(separator);
        type_ = words.substr(0, end);
        text_ = end == words.npos ? "it says nothing" : words.substr(end + separator.size());
    }
    const std::string& type() const noexcept { return type_; }
    const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string type_;
    std::string text_;
};

}  // namespace selion::detail
