// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "caller.hpp"
#include "global_array.hpp"
#include "module.hpp"

namespace bindings {

namespace {

/// A method of the local part, as Python's protocols for arrays call it.
template <class... Arguments>
nb::object of_local(const global_array& array, const char* name, Arguments&&... arguments) {
    return array.local().attr(name)(arguments...);
}

/// Calls the function of that name in selion.transfers.
template <class... Arguments>
nb::object by_name(const char* name, Arguments&&... arguments) {
    return nb::module_::import_("selion.transfers").attr(name)(arguments...);
}

std::string text_of(const global_array& array) {
    const auto in_words = [](nb::handle what) { return nb::cast<std::string>(nb::str(what)); };
    return "<selion.GlobalArray of shape " + in_words(array.shape()) + ", dtype " +
           in_words(array.dtype()) + (array.is_alive() ? ">" : ", given back>");
}

}  // namespace

void add_arrays(nb::module_& module) {
    documented<global_array> array(module, "GlobalArray");
    array
        .def(nb::init<const selion::world&, nb::object, nb::object>(), nb::keep_alive<1, 2>(),
             nb::arg("world"), nb::arg("shape"), nb::arg("dtype"))
        .def_prop_ro("shape", &global_array::shape)
        .def_prop_ro("dtype", &global_array::dtype)
        .def_prop_ro("size", &global_array::size)
        .def_prop_ro("ndim", &global_array::dimensions)
        .def_prop_ro("nbytes", &global_array::bytes)
        .def_prop_ro("local", &global_array::local)
        .def("put", &global_array::put, nb::arg("values").none(), nb::arg("rank"),
             nb::arg("offset") = 0)
        .def("get", &global_array::get, nb::arg("rank"), nb::arg("offset") = 0,
             nb::arg("count") = nb::none(), nb::kw_only(), nb::arg("out") = nb::none())
        .def("item", &global_array::item, nb::arg("rank"), nb::arg("offset") = 0)
        .def(
            "start_put",
            [](nb::handle self, nb::handle values, nb::handle rank, nb::handle offset) {
                return by_name("start_put", self, values, rank, offset);
            },
            nb::arg("values").none(), nb::arg("rank"), nb::arg("offset") = 0)
        .def(
            "start_get",
            [](nb::handle self, nb::handle rank, nb::handle offset, nb::handle count,
               nb::handle out) { return by_name("start_get", self, rank, offset, count, out); },
            nb::arg("rank"), nb::arg("offset") = 0, nb::arg("count").none() = nb::none(),
            nb::kw_only(), nb::arg("out").none() = nb::none())
        .def(
            "put_signal",
            [](nb::handle self, nb::handle values, nb::handle rank, nb::handle signal,
               nb::handle offset, nb::handle add, nb::handle set, nb::handle index) {
                return nb::module_::import_("selion._core")
                    .attr("put_signal")(self, values, rank, signal, offset, add, set, index);
            },
            nb::arg("values").none(), nb::arg("rank"), nb::arg("signal"), nb::arg("offset") = 0,
            nb::kw_only(), nb::arg("add").none() = nb::none(), nb::arg("set").none() = nb::none(),
            nb::arg("index") = 0)
        .def("free",
             [](nb::handle self) {
                 nb::cast<global_array&>(self).free();
                 nb::module_::import_("selion.registry").attr("let_go")(self);
             })
        .def("__repr__", &text_of)
        .def("__array__",
             [](const global_array& self, const nb::args& how, const nb::kwargs& named) {
                 return of_local(self, "__array__", *how, **named);
             })
        .def("__dlpack__",
             [](const global_array& self, const nb::kwargs& named) {
                 return of_local(self, "__dlpack__", **named);
             })
        .def("__dlpack_device__",
             [](const global_array& self) { return of_local(self, "__dlpack_device__"); })
        .def("__reduce__", [](nb::handle self) {
            return nb::module_::import_("selion.registry").attr("reduced")(self);
        });
    add_atomics(array);
    module.def("caller", &caller, "The job and the rank that the calling thread works for.");
    module.def(
        "as_array",
        [](nb::handle object, bool writes) -> nb::object {
            nb::object found = as_array(object, writes ? buffer::use::write : buffer::use::read);
            return found.is_valid() ? found : nb::none();
        },
        nb::arg("object").none(), nb::arg("writes") = false,
        "The memory of an object as an array, without a copy; None where it has none.");
}

}  // namespace bindings
