// SPDX-License-Identifier: Apache-2.0
#include "dtype_mark.hpp"

#include <string>
#include <string_view>

#include "numpy_fields.hpp"

namespace bindings {

namespace nb = nanobind;

std::uint32_t mark_of(nb::handle array) {
    const nb::handle dtype(numpy_fields::of(array).dtype);
    std::uint32_t hash = 0x811c9dc5;  // FNV-1a
    const auto add = [&](std::string_view text) {
        for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x01000193;
        return hash == 0 ? 1 : hash;
    };
    if (const plain_number* const plain = plain_number_of(dtype)) return add(plain->code);
    try {
        // A pair of name and code for each field; "<M8[D]" is all there is to most others.
        const bool has_fields = !dtype.attr("names").is_none();
        const nb::object words = has_fields ? dtype.attr("descr") : dtype.attr("str");
        const std::string text = nb::cast<std::string>(nb::str(words));
        const bool is_native = !has_fields && text.front() != '>';
        return add(std::string_view(text).substr(is_native ? 1 : 0));
    } catch (const nb::python_error&) {  // fields that overlap have no such words
        return 0;
    }
}

}  // namespace bindings
