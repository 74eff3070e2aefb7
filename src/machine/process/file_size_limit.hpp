// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

namespace selion::machine {

/// While this lasts, what the calling thread writes beyond the limit of a file's size (`ulimit -f`)
/// fails with EFBIG, as it fails on a full disk: without it the system would end the process by
/// SIGXFSZ, and nobody would say why. Leaves errno as it is.
class file_size_limit_is_error {
public:
    file_size_limit_is_error();
    ~file_size_limit_is_error();
    file_size_limit_is_error(const file_size_limit_is_error&) = delete;
    file_size_limit_is_error& operator=(const file_size_limit_is_error&) = delete;

private:
    sigset_t before_{};
    bool was_pending_ = false;  ///< by what the program has written, which blocks it as well
};

}  // namespace selion::machine
