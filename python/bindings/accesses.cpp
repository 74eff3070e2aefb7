// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <selion/access_replay.hpp>

#include "module.hpp"

/// Replayed accesses cross the border as dictionaries; `selion.cache_advice` gives them classes.
namespace bindings {
namespace {

/// Names of arrays may be any bytes.
nb::object text_of(const std::string& name) {
    return nb::steal(
        PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "replace"));
}

nb::dict dict_of(const selion::replayed_array& from) {
    nb::dict to;
    to["array"] = text_of(from.array);
    to["block_bytes"] = from.block_bytes;
    to["accesses"] = from.accesses;
    to["remote_accesses"] = from.remote_accesses;
    to["cold"] = from.cold;
    to["invalidated"] = from.invalidated;
    to["false_sharing"] = from.false_sharing;
    to["upgrades"] = from.upgrades;
    to["at_home"] = from.at_home;
    to["messages"] = from.messages;
    to["moved_bytes"] = from.moved_bytes;
    return to;
}

nb::dict dict_of(const selion::false_sharing& from) {
    nb::dict to;
    to["array"] = text_of(from.array);
    to["offset"] = from.offset;
    to["home"] = from.home;
    to["misses"] = from.useless_misses;
    return to;
}

template <class Element>
nb::list list_of(const std::vector<Element>& from) {
    nb::list to;
    for (const Element& one : from) to.append(dict_of(one));
    return to;
}

std::vector<selion::replayed_space> replay_unlocked(const std::string& folder,
                                                    const std::vector<std::size_t>& block_sizes) {
    const nb::gil_scoped_release free;
    return selion::replay_accesses(folder, block_sizes);
}

nb::list replay(const std::string& folder, const std::vector<std::size_t>& block_sizes) {
    nb::list spaces;
    for (const selion::replayed_space& from : replay_unlocked(folder, block_sizes)) {
        nb::dict to;
        to["run"] = from.run;
        to["number"] = from.number;
        to["ranks"] = from.ranks;
        to["block_bytes"] = from.block_bytes;
        to["misses"] = from.misses;
        to["waited_ps"] = from.waited_ps;
        to["left_out"] = from.left_out;
        to["is_whole"] = from.is_whole;
        to["arrays"] = list_of(from.arrays);
        to["worst"] = list_of(from.worst);
        spaces.append(to);
    }
    return spaces;
}

}  // namespace

void add_accesses(nb::module_& module) {
    module.def("replay_accesses", &replay, nb::arg("folder"), nb::arg("block_sizes"),
               "What traced accesses to coherent memory would have cost with other blocks.");
}

}  // namespace bindings
