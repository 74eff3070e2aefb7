// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

/// Numbers that ranks exchange one at a time.
namespace bindings {

/// NumPy's numbers as Python's. Its dates and times stay, of which some would become integers.
inline nanobind::object plain(nanobind::handle value) {
    const bool is_value = nanobind::hasattr(value, "dtype") && nanobind::hasattr(value, "item");
    if (!is_value || PyType_Check(value.ptr())) return nanobind::borrow(value);
    static const nanobind::handle times = [] {  // never given back: it may outlive the interpreter
        const auto numpy = nanobind::module_::import_("numpy");
        return nanobind::make_tuple(numpy.attr("datetime64"), numpy.attr("timedelta64")).release();
    }();
    const bool is_time = PyObject_IsInstance(value.ptr(), times.ptr()) == 1;
    return is_time ? nanobind::borrow(value) : value.attr("item")();
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
