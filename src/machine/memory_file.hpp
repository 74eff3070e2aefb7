// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace selion::machine {

/// A memfd that nobody can resize or unseal any more; it has no name in any file system, and is
/// closed when another program is executed.
/// @return its descriptor; -1: it cannot be had, and `errno` says why.
int make_sealed_file(const char* name, std::uint64_t bytes);

}  // namespace selion::machine
