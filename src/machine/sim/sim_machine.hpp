// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "machine/machine.hpp"
#include "machine/spec.hpp"
#include "selion/error.hpp"

namespace selion::machine {

/// `sim:NAME`: any program in the virtual time of a machine that a file describes.
machine_kind_info describe_sim();
result<std::unique_ptr<machine>> make_sim(const machine_spec& spec);

}  // namespace selion::machine
