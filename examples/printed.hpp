// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>

namespace examples {

/// Behind the last line that a program prints: says where standard output has not taken everything,
/// such as on a full disk. @return what the program exits with: `status`, or 2 then.
inline int printed(const char* program, int status) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    std::fprintf(stderr, "%s: standard output cannot be written\n", program);
    return status == 0 ? 2 : status;
}

}  // namespace examples
