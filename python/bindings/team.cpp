// SPDX-License-Identifier: Apache-2.0
#include <selion/team.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "broadcast.hpp"
#include "caller.hpp"
#include "living.hpp"
#include "module.hpp"
#include "reduce.hpp"

namespace bindings {

namespace {

using selion::team;

/// A handle that the garbage collector has found; a team has one at most.
struct parked_team {
    const void* state;
    team handle;
};
/// Until their team is freed, or the job ends; the list, as long as the process.
std::list<parked_team>& parked_teams() {
    static auto* const all = new std::list<parked_team>;
    return *all;
}

/// A team that was made of another one. Members let go of the last handle at different times where
/// the garbage collector does it: so `free` does, and what the collector finds is parked.
class subteam : public team {
public:
    explicit subteam(team made) : team(std::move(made)) { all().insert(this); }
    subteam(subteam&& other) noexcept
        : team(std::move(other)), is_held_(std::exchange(other.is_held_, false)) {
        all().insert(this);
    }
    ~subteam() {
        all().erase(this);
        const bool may_be_last = is_held_ && is_member() && !view().is_everybody();
        if (!may_be_last || is_parked()) return;
        parked_teams().push_back({view().state, std::move(*this)});
    }
    void free() {
        expect_caller(*this);
        std::list<parked_team> others;
        std::list<parked_team>& parked = parked_teams();
        const auto same = std::ranges::find(parked, view().state, &parked_team::state);
        if (same != parked.end()) others.splice(others.end(), parked, same);
        const nb::gil_scoped_release free;
        others.clear();
        let_go();
    }
    void let_go() { team::operator=(no_team(view().context)); }

    /// All that Python has.
    static std::unordered_set<subteam*>& all() {
        static auto* const own = new std::unordered_set<subteam*>;  // outlives Python
        return *own;
    }

private:
    bool is_parked() const {
        std::list<parked_team>& parked = parked_teams();
        return std::ranges::find(parked, view().state, &parked_team::state) != parked.end();
    }

    bool is_held_ = true;
};

/// None where this rank is no member.
nb::object as_object(team made) {
    if (!made.is_member()) return nb::none();
    return nb::cast(subteam(std::move(made)));
}

void barrier(const team& all) {
    enter_call(all);
    const nb::gil_scoped_release free;
    all.barrier();
}

void sync(const team& all) {
    enter_call(all);
    const nb::gil_scoped_release free;
    all.sync();
}

void arrive(const team& all) {
    enter_call(all);
    const nb::gil_scoped_release free;
    all.arrive();
}

void wait(const team& all) {
    enter_call(all);
    const nb::gil_scoped_release free;
    all.wait();
}

nb::object split(const team& all, std::optional<std::int64_t> colour, std::int64_t key) {
    enter_call(all);
    if (colour && (*colour < 0 || *colour >= team::no_colour)) {
        throw nb::value_error("The colour is None or a number; legal: 0 to 4294967294.");
    }
    const auto number = static_cast<std::uint32_t>(colour.value_or(team::no_colour));
    std::optional<team> made;
    {
        const nb::gil_scoped_release free;
        made = all.split(number, key);
    }
    return as_object(std::move(*made));
}

selion::locality locality_named(std::string_view name) {
    if (name == "process") return selion::locality::process;
    if (name == "cache") return selion::locality::cache;
    if (name == "socket") return selion::locality::socket;
    if (name == "node") return selion::locality::node;
    const std::string sentence =
        "A place is '" + std::string(name) + "'; legal: process, cache, socket, node.";
    throw nb::value_error(sentence.c_str());
}

nb::object split_by(const team& all, std::string_view place) {
    enter_call(all);
    const selion::locality where = locality_named(place);
    std::optional<team> made;
    {
        const nb::gil_scoped_release free;
        made = all.split(where);
    }
    return as_object(std::move(*made));
}

void expect_members(const team& all, const std::vector<std::int64_t>& members) {
    std::vector<bool> is_listed(all.size());
    for (const std::int64_t member : members) {
        const std::string text = std::to_string(member);
        if (member < 0 || member >= std::int64_t{all.size()}) {
            const std::string sentence = "There is no member " + text + "; legal: 0 to " +
                                         std::to_string(all.size() - 1) + ".";
            throw nb::value_error(sentence.c_str());
        }
        const auto place = static_cast<std::size_t>(member);
        if (is_listed[place]) {
            throw nb::value_error(("Member " + text + " is listed twice.").c_str());
        }
        is_listed[place] = true;
    }
}

nb::object make_subteam(const team& all, const std::vector<std::int64_t>& members) {
    enter_call(all);
    expect_members(all, members);
    std::vector<selion::team_rank> list;
    for (const std::int64_t member : members) {
        list.emplace_back(static_cast<std::uint32_t>(member));
    }
    std::optional<team> made;
    {
        const nb::gil_scoped_release free;
        made = all.subteam(list);
    }
    return as_object(std::move(*made));
}

selion::sync_mode mode_named(std::string_view name) {
    if (name == "none") return selion::sync_mode::none;
    if (name == "mine") return selion::sync_mode::mine;
    if (name == "all") return selion::sync_mode::all;
    const std::string sentence = "A mode is '" + std::string(name) + "'; legal: none, mine, all.";
    throw nb::value_error(sentence.c_str());
}

nb::object with_modes(const team& all, std::string_view entry, std::string_view exit) {
    expect_member(all);
    return as_object(all.with({mode_named(entry), mode_named(exit)}));
}

nb::object with_timeout(const team& all, double seconds) {
    expect_member(all);
    if (!(seconds >= 0 && seconds <= 9e9)) {
        throw nb::value_error("A time-out is a number of seconds; legal: 0 to 9e9.");
    }
    const std::chrono::duration<double> time(seconds);
    return as_object(all.with_timeout(std::chrono::duration_cast<std::chrono::nanoseconds>(time)));
}

std::uint32_t world_rank(const team& all, std::int64_t member) {
    expect_member(all);
    expect_members(all, {member});
    return all.world_rank(static_cast<std::uint32_t>(member));
}

std::optional<std::uint32_t> rank_of(const team& all, std::uint32_t rank) {
    expect_member(all);
    const auto found = all.rank_of(rank);
    if (!found) return std::nullopt;
    return std::uint32_t{*found};
}

void choose(const team& all, std::string_view collective, std::optional<std::string_view> way) {
    expect_caller(all);
    std::optional<selion::collective_choice> how;
    if (way) how = selion::choice_of(*way);
    all.choose(selion::collective_of(collective), how);
}

/// `selion.explanation` gives the parts names.
nb::object explain(const team& all, std::string_view collective, std::size_t size) {
    expect_caller(all);
    const auto found = all.explain(selion::collective_of(collective), size);
    std::vector<std::pair<std::string, double>> candidates;
    for (const selion::timed_choice& one : found.candidates) {
        candidates.emplace_back(text_of(one.choice), one.ns);
    }
    return nb::module_::import_("selion.explanation")
        .attr("Explanation")(name_of(found.collective), found.bytes, found.members,
                             text_of(found.choice), name_of(found.reason), found.why,
                             found.is_measured, found.known_bytes, found.known_members, candidates);
}

void add_ways_to_make_teams(documented<team>& all_members) {
    all_members.def("split", &split, nb::arg("colour").none(), nb::arg("key") = 0)
        .def("split_by", &split_by, nb::arg("place"))
        .def("subteam", &make_subteam, nb::arg("members"))
        .def("with_modes", &with_modes, nb::arg("entry") = "mine", nb::arg("exit") = "mine")
        .def("with_timeout", &with_timeout, nb::arg("seconds"));
}

}  // namespace

void end_teams() {
    parked_teams().clear();
    for (subteam* const each : subteam::all()) each->let_go();
}

nb::object make_survivors(const selion::world& all) {
    enter_call(all);
    std::optional<team> made;
    {
        const nb::gil_scoped_release free;
        made = all.survivors();
    }
    return as_object(std::move(*made));
}

documented<team> add_team(nb::module_& module) {
    documented<team> all_members(module, "Team");
    all_members.def_prop_ro("rank", [](const team& all) -> std::uint32_t { return all.rank(); })
        .def_prop_ro("size", &team::size)
        .def("world_rank", &world_rank, nb::arg("member"))
        .def("rank_of", &rank_of, nb::arg("rank"))
        .def("barrier", &barrier)
        .def("sync", &sync)
        .def("arrive", &arrive)
        .def("wait", &wait)
        .def("broadcast", &broadcast, nb::arg("value").none(), nb::arg("root") = 0)
        .def("all_reduce", &all_reduce, nb::arg("value").none(), nb::arg("operation") = "plus",
             nb::kw_only(), nb::arg("out").none() = nb::none())
        .def("explain", &explain, nb::arg("collective"), nb::arg("size") = 8)
        .def("choose", &choose, nb::arg("collective"), nb::arg("way").none());
    add_ways_to_make_teams(all_members);
    documented<subteam, team>(module, "Subteam")
        .def("free", &subteam::free)
        .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
        .def("__exit__",
             [](subteam& self, const nb::args&) {
                 if (self.is_member()) self.free();
             })
        .def("__repr__", [](const subteam& self) {
            if (!self.is_member()) return std::string("<selion.Subteam that has been freed>");
            return "<selion.Subteam, member " + std::to_string(self.rank()) + " of " +
                   std::to_string(self.size()) + ">";
        });
    return all_members;
}

}  // namespace bindings
