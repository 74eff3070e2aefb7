// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

namespace bindings {

/// Numbers in the machine's byte order that elements of arrays may be.
enum class number_kind : std::uint8_t { none, i4, i8, u4, u8, f4, f8 };

/// @param code NumPy's, "<f8": byte order, kind, bytes.
inline number_kind number_kind_of(std::string_view code) {
    if (code == "<i4") return number_kind::i4;
    if (code == "<i8") return number_kind::i8;
    if (code == "<u4") return number_kind::u4;
    if (code == "<u8") return number_kind::u8;
    if (code == "<f4") return number_kind::f4;
    if (code == "<f8") return number_kind::f8;
    return number_kind::none;
}

/// Calls `then` with a value of that type. @pre a kind other than none.
template <class Then>
decltype(auto) with_number(number_kind kind, Then&& then) {
    switch (kind) {
        case number_kind::i4: return then(std::int32_t{});
        case number_kind::u4: return then(std::uint32_t{});
        case number_kind::u8: return then(std::uint64_t{});
        case number_kind::f4: return then(float{});
        case number_kind::f8: return then(double{});
        case number_kind::i8:
        case number_kind::none: break;
    }
    return then(std::int64_t{});
}

template <class T>
PyObject* to_python(T value) {
    if constexpr (std::floating_point<T>) {
        return PyFloat_FromDouble(value);
    } else if constexpr (std::is_signed_v<T>) {
        return PyLong_FromLongLong(value);
    } else {
        return PyLong_FromUnsignedLongLong(value);
    }
}

/// Whether a T holds a number but for its precision. Infinities stay what they are.
template <std::floating_point T>
bool holds(double number) {
    if constexpr (sizeof(T) == sizeof(double)) return true;
    return std::isinf(number) || !std::isinf(static_cast<T>(number));
}

/// Whether an object is plainly a number that a T holds: then it is in `into`. Never raises.
template <class T>
bool take_plain(PyObject* object, T& into) {
    if constexpr (std::floating_point<T>) {
        // NumPy's float64 is a float as well.
        if (PyFloat_Check(object)) {
            into = static_cast<T>(PyFloat_AS_DOUBLE(object));
            return holds<T>(PyFloat_AS_DOUBLE(object));
        }
    }
    if (!PyLong_CheckExact(object)) return false;
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) return false;
    if constexpr (std::integral<T>) {
        if (!std::in_range<T>(number)) return false;
    }
    into = static_cast<T>(number);
    return true;
}

/// @error OverflowError
template <class T>
[[noreturn]] void raise_beyond(nanobind::handle number) {
    using limits = std::numeric_limits<T>;
    const nanobind::object least = nanobind::steal(to_python(limits::lowest()));
    const nanobind::object most = nanobind::steal(to_python(limits::max()));
    const auto in_words = [](nanobind::handle what) {
        return nanobind::cast<std::string>(nanobind::str(what));
    };
    const std::string sentence = in_words(number) + " does not fit; legal: " + in_words(least) +
                                 " to " + in_words(most) + ".";
    PyErr_SetString(PyExc_OverflowError, sentence.c_str());
    throw nanobind::python_error();
}

/// The number that a T holds. @error TypeError, OverflowError
template <class T>
T from_python(nanobind::handle object) {
    T value{};
    if (take_plain(object.ptr(), value)) return value;
    if constexpr (std::floating_point<T>) {
        const double number = PyFloat_AsDouble(object.ptr());
        if (number == -1.0 && PyErr_Occurred() != nullptr) throw nanobind::python_error();
        if (!holds<T>(number)) raise_beyond<T>(object);
        return static_cast<T>(number);
    } else {
        const auto number = nanobind::steal(PyNumber_Index(object.ptr()));
        if (!number.is_valid()) throw nanobind::python_error();
        if (take_plain(number.ptr(), value)) return value;
        if constexpr (std::same_as<T, std::uint64_t>) {
            const std::uint64_t large = PyLong_AsUnsignedLongLong(number.ptr());
            if (PyErr_Occurred() == nullptr) return large;
            PyErr_Clear();
        }
        raise_beyond<T>(number);
    }
}

}  // namespace bindings
