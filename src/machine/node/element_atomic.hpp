// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "selion/detail/atomic_request.hpp"

namespace selion::machine::node {

/// An atomic on an element that this process maps; atomic against the inline ones.
/// @return the element's bits before.
std::uint64_t change_element(std::byte* address, const detail::atomic_request& request);

}  // namespace selion::machine::node
