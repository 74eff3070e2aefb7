// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>

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

/// NumPy's type of arrays.
inline PyTypeObject* array_type() {
    static const nanobind::handle type =  // never given back: it may outlive the interpreter
        nanobind::module_::import_("numpy").attr("ndarray").inc_ref();
    return reinterpret_cast<PyTypeObject*>(type.ptr());
}

/// Whether an object is a NumPy array; NumPy's scalars are none.
inline bool is_array(nanobind::handle object) {
    return PyObject_TypeCheck(object.ptr(), array_type()) != 0;
}

/// The same without what is derived from NumPy's arrays.
inline bool is_array_itself(nanobind::handle object) {
    return Py_TYPE(object.ptr()) == array_type();
}

/// A NumPy array as a view of an object's memory, without a copy: of the array itself, of a tensor
/// that speaks DLPack, or of anything with the buffer protocol. Null for numbers, strings,
/// sequences and NumPy's scalars, which have no memory that others may use.
/// @error BufferError where the memory is not this host's, or may not be written as is wanted;
/// TypeError for a masked array.
nanobind::object as_array(nanobind::handle object, buffer::use how);
/// The same of what a collective moves or combines by elements. Null for bytes as well, which come
/// back as bytes where they are moved at all.
nanobind::object elements_of(nanobind::handle object);

/// The same for what must be an array. @param what needs it, for the sentence that refuses.
/// @error TypeError
nanobind::object need_array(nanobind::handle object, buffer::use how, const char* what);

/// An array that can be filled in place. @param dtype that it must have; null: any.
/// @error TypeError, ValueError
nanobind::object need_out(nanobind::handle out, nanobind::handle dtype);

/// @param blocks of all members of a team, in their order. @param own of the one with that number
/// @error ValueError: it lies in those of others. @param call whose `out` is one of the two
void expect_apart(std::span<const std::byte> own, std::span<const std::byte> blocks,
                  std::uint32_t number, const char* call);

/// An array of no values yet.
nanobind::object new_array(nanobind::handle shape, nanobind::handle dtype);

}  // namespace bindings
