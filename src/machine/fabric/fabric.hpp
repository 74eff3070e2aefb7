// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "machine/machine.hpp"
#include "machine/spec.hpp"

/// `fabric`: one process a rank, on many hosts, started by a launcher that has a PMIx server and
/// joined by libfabric. How it works is told in protocol.md.
namespace selion::machine {

machine_kind_info describe_fabric();
result<std::unique_ptr<machine>> make_fabric(const machine_spec& spec);

}  // namespace selion::machine
