// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

/// Numbers that ranks exchange one at a time.
namespace bindings {

/// NumPy's numbers as Python's.
inline nanobind::object plain(nanobind::handle value) {
    return nanobind::hasattr(value, "dtype") ? value.attr("item")() : nanobind::borrow(value);
}

inline std::int64_t as_int64(nanobind::handle value) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow != 0) {
        PyErr_SetString(PyExc_OverflowError, "Integers that ranks exchange must fit 64 bits.");
        throw nanobind::python_error();
    }
    return number;
}

}  // namespace bindings
