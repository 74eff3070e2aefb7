// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <selion/team.hpp>
#include <selion/world.hpp>

namespace bindings {

/// What Python holds of worlds and teams means something while this lives. A simulated job ends in
/// a process that goes on: then its teams become such as have been freed.
/// @pre the GIL is held at both ends.
class lasting_job {
public:
    lasting_job() = default;
    ~lasting_job();
    lasting_job(const lasting_job&) = delete;
    lasting_job& operator=(const lasting_job&) = delete;
};

/// A rank's world for Python: a copy, because that of a later job may lie at the same address.
nanobind::object world_object(const selion::world& all);

/// In a child that the program has forked: it is no rank, whatever its parent is.
void leave_rank();

/// Ends all handles of teams that Python has, but worlds. @pre there is no rank any more.
void end_teams();

/// A handle of no team.
class no_team : public selion::team {
public:
    explicit no_team(selion::detail::rank_context* context)
        : team(selion::detail::team_view{context}) {}
};

}  // namespace bindings
