// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "machine/machine.hpp"
#include "machine/spec.hpp"

/// `threads:N`, `threads:N@C`: all ranks in the program's own process.
namespace selion::machine {

machine_kind_info describe_threads();
result<std::unique_ptr<machine>> make_threads(const machine_spec& spec);

}  // namespace selion::machine
