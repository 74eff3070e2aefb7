// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/fabric/launcher_link.hpp"
#include "machine/node/job_setting.hpp"
#include "machine/spec.hpp"
#include "selion/error.hpp"

namespace selion::machine::fabric {

/// How many processes and ranks a spec asks for.
struct wished_shape {
    std::uint32_t processes = 0;  ///< 0: as many as the launcher has started
    std::uint32_t ranks_per_process = 1;
};

/// Whether SELION_RANK_DEATH says that the job outlives ranks that die. @error bad_argument
/// (thrown)
bool reports_deaths();
/// Without asking the launcher. @error bad_argument with the mistake and the legal forms
result<wished_shape> parse_spec(const machine_spec& spec);
/// What a spec of that shape asks for where the launcher has started so many processes.
/// @error bad_argument
result<node::job_setting> setting_of(const machine_spec& spec, wished_shape shape,
                                     const launch_place& place);

}  // namespace selion::machine::fabric
