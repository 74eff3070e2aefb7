// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <simgrid/s4u.hpp>

namespace bench {

/// Hosts that all hang on one switch, with the times of the machine `crossbar`: a microsecond from
/// one to the other and 1 GB/s at each port.
std::vector<simgrid::s4u::Host*> make_hosts(std::uint64_t count);

}  // namespace bench
