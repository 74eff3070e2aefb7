// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/knobs.hpp"

/// Files that a job writes part by part because a variable names them.
namespace selion::detail {

/// The file is opened for each part, and a pipe with a name would wait for a reader each time. One
/// without, which /dev/stdout may lead to, has its reader.
/// @error bad_argument where it is such a pipe, a block device or a socket.
void expect_no_pipe(const std::string& path, base::knob which);

/// What the program prints would write over it: it has its own place in the file.
/// @error bad_argument where standard output or error is a regular file, and that one.
void expect_no_output_file(const std::string& path, base::knob which);

/// @pre errno says why it cannot be written. @error bad_argument
[[noreturn]] void refuse_file(const std::string& path, base::knob which);

}  // namespace selion::detail
