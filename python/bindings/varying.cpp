// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <selion/team.hpp>

#include "buffer.hpp"
#include "caller.hpp"
#include "module.hpp"

namespace bindings {
namespace {

using lengths = std::vector<std::size_t>;

struct moved_blocks {
    std::vector<std::byte> values;
    lengths starts;  ///< of each block, and the end of the last; empty: nothing has come
};

moved_blocks moved(selion::varying_blocks<std::byte> all) {
    return {std::move(all.values), std::move(all.starts)};
}

moved_blocks move_given(const selion::team& all, std::string_view what,
                        std::span<const std::byte> given, const lengths& counts,
                        std::uint32_t root) {
    if (what == "gatherv") return moved(all.gatherv(given, root));
    if (what == "all_gatherv") return moved(all.all_gatherv(given));
    if (what == "exchangev") return moved(all.exchangev(given, counts));
    std::vector<std::byte> own = all.scatterv(given, counts, root);
    const std::size_t end = own.size();
    return {std::move(own), {0, end}};
}

std::pair<nb::bytes, lengths> move_varying(const selion::team& all, std::string_view what,
                                           nb::handle source, const lengths& counts,
                                           std::uint32_t root) {
    enter_call(all);
    std::optional<buffer> from;
    if (!source.is_none()) from.emplace(source, buffer::use::read);
    const auto given = from ? std::span<const std::byte>(from->data(), from->bytes())
                            : std::span<const std::byte>();
    moved_blocks found =
        without_gil({source}, [&] { return move_given(all, what, given, counts, root); });
    return {nb::bytes(found.values.data(), found.values.size()), std::move(found.starts)};
}

/// Calls the function of that name in selion.varying.
template <class... Arguments>
nb::object call(const char* name, Arguments&&... arguments) {
    return nb::module_::import_("selion.varying").attr(name)(arguments...);
}

}  // namespace

void add_varying(nb::module_& module, documented<selion::team>& team) {
    module.def("move_varying", &move_varying, nb::arg("team"), nb::arg("what"),
               nb::arg("source").none(), nb::arg("counts"), nb::arg("root"),
               "gatherv, all_gatherv, scatterv or exchangev of bytes.");
    team.def(
            "gatherv",
            [](nb::handle all, nb::handle value, nb::handle root) {
                return call("gatherv", all, value, root);
            },
            nb::arg("value").none(), nb::arg("root") = 0)
        .def(
            "all_gatherv",
            [](nb::handle all, nb::handle value) { return call("all_gatherv", all, value); },
            nb::arg("value").none())
        .def(
            "scatterv",
            [](nb::handle all, nb::handle values, nb::handle root) {
                return call("scatterv", all, values, root);
            },
            nb::arg("values").none(), nb::arg("root") = 0)
        .def(
            "exchangev",
            [](nb::handle all, nb::handle values) { return call("exchangev", all, values); },
            nb::arg("values"));
}

}  // namespace bindings
