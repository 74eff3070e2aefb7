// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "machine/fabric/launcher_link.hpp"
#include "machine/node/job_setting.hpp"
#include "machine/spec.hpp"
#include "selion/error.hpp"

namespace selion::machine::fabric {

/// What keeps a spec from being one of this kind, without asking the launcher; empty: nothing.
std::string mistake_in(const machine_spec& spec);
/// Says so, and what is legal.
error malformed(const machine_spec& spec, std::string_view mistake);
/// What a spec without mistakes asks for where the launcher has started so many.
result<node::job_setting> setting_of(const machine_spec& spec, const launch_place& place);

}  // namespace selion::machine::fabric
