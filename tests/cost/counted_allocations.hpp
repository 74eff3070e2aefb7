// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cost {

/// How often the calling thread has asked for memory by `new`, of any form, since it began.
std::uint64_t allocations_of_this_thread();

}  // namespace cost
