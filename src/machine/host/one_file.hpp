// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

namespace selion::machine {

/// Whether two descriptors are of one file. False where one of them is not open.
inline bool are_one_file(int one, int other) {
    struct stat of_one {};
    struct stat of_other {};
    return fstat(one, &of_one) == 0 && fstat(other, &of_other) == 0 &&
           of_one.st_dev == of_other.st_dev && of_one.st_ino == of_other.st_ino;
}

}  // namespace selion::machine
