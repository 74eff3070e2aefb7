// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "machine/machine.hpp"
#include "machine/spec.hpp"

/// `processes:N`, `processes:PxT`: the program executed anew in each process, over one memory file.
namespace selion::machine {

machine_kind_info describe_processes();
result<std::unique_ptr<machine>> make_processes(const machine_spec& spec);

}  // namespace selion::machine
