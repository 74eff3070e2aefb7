// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <typeinfo>

/// Exceptions in words, for those who are told of them elsewhere.
namespace selion::base {

/// As a compiler would write it.
std::string type_name(const std::type_info& type);
/// Within a `catch`: the type of what is caught.
std::string type_name_of_current_exception();
/// Within a `catch`: what it says.
std::string text_of_current_exception();

}  // namespace selion::base
