// SPDX-License-Identifier: Apache-2.0
#include "buffer.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <vector>

#include "global_array.hpp"
#include "numpy_fields.hpp"

namespace bindings {

namespace nb = nanobind;

namespace {

[[noreturn]] void raise(PyObject* kind, const std::string& sentence) {
    PyErr_SetString(kind, sentence.c_str());
    throw nb::python_error();
}

/// A view of a tensor; it keeps what the tensor has given, to which DLPack ties the memory.
template <class Kind>
nb::object view_of(nb::handle tensor, const char* complaint) {
    nb::ndarray<Kind> found;
    if (!nb::try_cast(tensor, found)) {
        PyErr_Clear();
        raise(PyExc_BufferError,
              "The memory of this " + std::string(Py_TYPE(tensor.ptr())->tp_name) + complaint);
    }
    const std::vector<std::size_t> shape(found.shape_ptr(), found.shape_ptr() + found.ndim());
    const nb::capsule given(new nb::ndarray<Kind>(found), [](void* kept) noexcept {
        delete static_cast<nb::ndarray<Kind>*>(kept);
    });
    return nb::cast(nb::ndarray<nb::numpy, Kind>(found.data(), found.ndim(), shape.data(), given,
                                                 found.stride_ptr(), found.dtype()));
}

nb::object view_of_tensor(nb::handle tensor, buffer::use how) {
    const auto device = nb::cast<nb::tuple>(tensor.attr("__dlpack_device__")());
    if (nb::cast<int>(device[0]) != nb::device::cpu::value) {
        raise(PyExc_BufferError, "The memory of this " +
                                     std::string(Py_TYPE(tensor.ptr())->tp_name) +
                                     " is a device's; move it to the host first.");
    }
    if (how == buffer::use::read) return view_of<nb::ro>(tensor, " cannot be shared.");
    return view_of<nb::device::cpu>(tensor, " must not be written.");
}

bool is_scalar(nb::handle object) {
    static const nb::handle type = nb::module_::import_("numpy").attr("generic").inc_ref();
    return PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(type.ptr())) != 0;
}

/// @error TypeError for an array with a mask, which its elements would travel without.
void expect_no_mask(nb::handle array) {
    const nb::object masked = nb::module_::import_("numpy.ma").attr("MaskedArray");
    if (!nb::isinstance(array, masked)) return;
    raise(PyExc_TypeError,
          "A masked array would lose its mask; pass x.filled(value), or x.data and x.mask.");
}

}  // namespace

nb::object as_array(nb::handle object, buffer::use how) {
    if (is_array(object)) {
        if (!is_array_itself(object)) [[unlikely]]
            expect_no_mask(object);
        return nb::borrow(object);
    }
    if (is_scalar(object)) return {};
    // Also of what no other library knows as a tensor: dates, text, records.
    if (nb::isinstance<global_array>(object)) return nb::cast<const global_array&>(object).local();
    if (nb::hasattr(object, "__dlpack_device__")) return view_of_tensor(object, how);
    if (PyObject_CheckBuffer(object.ptr()) == 0) return {};
    nb::object view = nb::steal(PyMemoryView_FromObject(object.ptr()));
    if (!view.is_valid()) throw nb::python_error();
    if (how == buffer::use::write && nb::cast<bool>(view.attr("readonly"))) {
        raise(PyExc_BufferError, "The memory of this " +
                                     std::string(Py_TYPE(object.ptr())->tp_name) +
                                     " must not be written.");
    }
    return nb::module_::import_("numpy").attr("asarray")(view);
}

nb::object elements_of(nb::handle object) {
    const bool is_bytes = PyBytes_Check(object.ptr()) || PyByteArray_Check(object.ptr());
    return is_bytes ? nb::object() : as_array(object, buffer::use::read);
}

nb::object need_array(nb::handle object, buffer::use how, const char* what) {
    nb::object found = as_array(object, how);
    if (found.is_valid()) return found;
    raise(PyExc_TypeError, std::string(what) + " is an array, or has memory as one has; this is " +
                               Py_TYPE(object.ptr())->tp_name + ".");
}

nb::object need_out(nb::handle out, nb::handle dtype) {
    nb::object array = need_array(out, buffer::use::write, "out");
    const numpy_fields& fields = numpy_fields::of(array);
    const nb::handle own(fields.dtype);
    if (dtype.is_valid() && !own.is(dtype) && !own.equal(dtype)) {
        raise(PyExc_TypeError, "The array is of dtype " + nb::cast<std::string>(nb::str(own)) +
                                   "; what it is to hold is of " +
                                   nb::cast<std::string>(nb::str(dtype)) + ".");
    }
    if (!fields.is_contiguous()) raise(PyExc_ValueError, "out is not C-contiguous.");
    if (!fields.is_writeable()) raise(PyExc_ValueError, "out must not be written.");
    return array;
}

const plain_number* plain_number_of(nb::handle dtype) {
    struct known {
        nb::handle dtype;
        plain_number number;
    };
    static const auto* const all = [] {
        const auto make = nb::module_::import_("numpy").attr("dtype");
        auto* const made = new std::vector<known>;  // it may outlive the interpreter
        for (const plain_number one : {plain_number{"f8", 8},
                                       {"i8", 8},
                                       {"f4", 4},
                                       {"i4", 4},
                                       {"u8", 8},
                                       {"u4", 4},
                                       {"i2", 2},
                                       {"u2", 2},
                                       {"i1", 1},
                                       {"u1", 1}}) {
            made->push_back({make(one.code).release(), one});
        }
        return made;
    }();
    for (const known& one : *all) {
        if (one.dtype.is(dtype)) return &one.number;
    }
    return nullptr;
}

std::size_t item_bytes(nb::handle array) {
    const nb::handle dtype(numpy_fields::of(array).dtype);
    if (const plain_number* const plain = plain_number_of(dtype)) return plain->bytes;
    return nb::cast<std::size_t>(dtype.attr("itemsize"));
}

void expect_apart(std::span<const std::byte> own, std::span<const std::byte> blocks,
                  std::uint32_t number, const char* call) {
    const bool is_own_block = own.data() == blocks.data() + number * own.size();
    const bool is_apart =
        own.data() + own.size() <= blocks.data() || blocks.data() + blocks.size() <= own.data();
    if (is_own_block || is_apart || own.empty()) return;
    raise(PyExc_ValueError,
          std::string("out of ") + call + " overlaps with what other members give or get.");
}

nb::object new_array(nb::handle shape, nb::handle dtype) {
    static const nb::handle empty =  // never given back: it may outlive the interpreter
        nb::module_::import_("numpy").attr("empty").inc_ref();
    return empty(shape, dtype);
}

}  // namespace bindings
