// SPDX-License-Identifier: Apache-2.0
#include "base/exception_text.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>

#include "selion/detail/script_exception.hpp"

namespace selion::base {

std::string type_name(const std::type_info& type) {
    int trouble = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(type.name(), nullptr, nullptr, &trouble), std::free);
    return trouble == 0 ? name.get() : type.name();
}

std::string type_name_of_current_exception() {
    try {
        throw;
    } catch (const detail::script_exception& of_script) {
        return of_script.type();
    } catch (...) {  // its type is asked for below
    }
    const std::type_info* const type = abi::__cxa_current_exception_type();
    return type == nullptr ? "unknown" : type_name(*type);
}

std::string text_of_current_exception() {
    try {
        throw;
    } catch (const std::exception& known) {
        return known.what();
    } catch (...) {
        return "it is no std::exception";
    }
}

}  // namespace selion::base
