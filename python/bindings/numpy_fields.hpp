// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

namespace bindings {

/// The fields of a NumPy array that its binary interface has promised since NumPy 1: extensions
/// that were compiled for any version read them in place. Asking Python for the same takes a
/// hundred times as long as the put of a number.
struct numpy_fields {
    PyObject head;
    std::byte* data;
    int dimensions;
    Py_ssize_t* extents;
    Py_ssize_t* strides;
    PyObject* base;
    PyObject* dtype;
    int flags;

    static constexpr int c_contiguous = 0x1;
    static constexpr int aligned = 0x100;
    static constexpr int writeable = 0x400;

    static const numpy_fields& of(nanobind::handle array) {
        return *reinterpret_cast<const numpy_fields*>(array.ptr());
    }

    bool is_contiguous() const noexcept { return (flags & c_contiguous) != 0; }
    bool is_aligned() const noexcept { return (flags & aligned) != 0; }
    bool is_writeable() const noexcept { return (flags & writeable) != 0; }
    std::size_t size() const noexcept {
        std::size_t count = 1;
        for (int d = 0; d < dimensions; ++d) count *= static_cast<std::size_t>(extents[d]);
        return count;
    }
};

/// A number in the machine's byte order, of which NumPy has one dtype object for all arrays.
struct plain_number {
    const char* code;  ///< NumPy's: "f8"
    std::size_t bytes;
};
/// @return null for other dtypes, and for other objects that mean the same.
const plain_number* plain_number_of(nanobind::handle dtype);

/// Bytes of an element.
std::size_t item_bytes(nanobind::handle array);

}  // namespace bindings
