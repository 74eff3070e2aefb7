// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

namespace bindings {

/// The contiguous memory of a Python object for as long as this lives.
class buffer {
public:
    enum class use { read, write };

    /// @error BufferError or TypeError of Python if the object has no such memory.
    buffer(nanobind::handle object, use how) {
        const int flags = how == use::write ? PyBUF_CONTIG : PyBUF_CONTIG_RO;
        if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nanobind::python_error();
    }
    ~buffer() { PyBuffer_Release(&view_); }
    buffer(const buffer&) = delete;
    buffer& operator=(const buffer&) = delete;

    std::byte* data() const noexcept { return static_cast<std::byte*>(view_.buf); }
    std::size_t bytes() const noexcept { return static_cast<std::size_t>(view_.len); }

private:
    Py_buffer view_{};
};

/// Whether an object is a NumPy array; NumPy's scalars are none.
inline bool is_array(nanobind::handle object) {
    static const nanobind::handle type =  // never given back: it may outlive the interpreter
        nanobind::module_::import_("numpy").attr("ndarray").inc_ref();
    return PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(type.ptr())) != 0;
}

}  // namespace bindings
