// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string_view.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <selion/team.hpp>

#include "buffer.hpp"
#include "caller.hpp"
#include "module.hpp"
#include "reduce.hpp"

namespace bindings {

namespace {

/// Memory of an object, or nothing of None.
class block_memory {
public:
    block_memory(nb::handle object, buffer::use how) {
        if (!object.is_none()) memory_.emplace(object, how);
    }
    std::span<std::byte> bytes() const {
        return memory_ ? std::span(memory_->data(), memory_->bytes()) : std::span<std::byte>();
    }

private:
    std::optional<buffer> memory_;
};

/// Collectives that move blocks of bytes; shapes and types are the caller's business.
void move_blocks(const selion::team& all, std::string_view what, nb::handle source,
                 nb::handle target, std::uint32_t root) {
    expect_caller(all);
    const block_memory from(source, buffer::use::read);
    const block_memory to(target, buffer::use::write);
    const std::span<const std::byte> given = from.bytes();
    const nb::gil_scoped_release free;
    if (what == "gather") return all.gather(given, to.bytes(), root);
    if (what == "all_gather") return all.all_gather(given, to.bytes());
    if (what == "scatter") return all.scatter(given, to.bytes(), root);
    all.exchange(given, to.bytes());
}

/// Calls the function of that name in selion.collectives.
template <class... Arguments>
nb::object call(const char* name, Arguments&&... arguments) {
    return nb::module_::import_("selion.collectives").attr(name)(arguments...);
}

}  // namespace

void add_collectives(nb::module_& module, nb::class_<selion::team>& team) {
    module.def("move_blocks", &move_blocks, nb::arg("team"), nb::arg("what"),
               nb::arg("source").none(), nb::arg("target").none(), nb::arg("root"),
               "gather, all_gather, scatter or exchange of contiguous memory.");
    module.def("combine", &combine, nb::arg("team"), nb::arg("what"), nb::arg("array"),
               nb::arg("operation"), nb::arg("root"),
               "all_reduce, reduce, scan or exscan of an array, in place.");
    team.def(
            "gather",
            [](nb::handle all, nb::handle value, nb::handle root) {
                return call("gather", all, value, root);
            },
            nb::arg("value").none(), nb::arg("root") = 0,
            "At `root` every member's value, in order; elsewhere None.")
        .def(
            "all_gather",
            [](nb::handle all, nb::handle value) { return call("all_gather", all, value); },
            nb::arg("value").none(), "Every member's value, in order.")
        .def(
            "scatter",
            [](nb::handle all, nb::handle values, nb::handle root) {
                return call("scatter", all, values, root);
            },
            nb::arg("values").none(), nb::arg("root") = 0,
            "Each member gets its own of the root's values.")
        .def(
            "exchange",
            [](nb::handle all, nb::handle values) { return call("exchange", all, values); },
            nb::arg("values"), "Value r goes to member r; returns what each has sent here.")
        .def(
            "reduce",
            [](nb::handle all, nb::handle value, nb::handle operation, nb::handle root) {
                return call("reduce", all, value, operation, root);
            },
            nb::arg("value"), nb::arg("operation") = "plus", nb::arg("root") = 0,
            "Combines one value of every member; elsewhere than at `root` returns None.")
        .def(
            "scan",
            [](nb::handle all, nb::handle value, nb::handle operation) {
                return call("scan", all, value, operation);
            },
            nb::arg("value"), nb::arg("operation") = "plus",
            "Combines the values of members 0 to this one.")
        .def(
            "exscan",
            [](nb::handle all, nb::handle value, nb::handle operation, nb::handle first) {
                return call("exscan", all, value, operation, first);
            },
            nb::arg("value"), nb::arg("operation") = "plus", nb::arg("first").none() = nb::none(),
            "Combines the values of the members before this one; member 0 gets `first`.");
}

}  // namespace bindings
