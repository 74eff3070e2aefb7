// SPDX-License-Identifier: Apache-2.0
#include "world/named_file.hpp"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "selion/error.hpp"

namespace selion::detail {
namespace {

auto name_of(base::knob which) { return base::knob_table()[static_cast<std::size_t>(which)].name; }

}  // namespace

void expect_no_pipe(const std::string& path, base::knob which) {
    struct stat facts {};
    struct statfs system {};
    if (path.empty() || stat(path.c_str(), &facts) != 0) return;
    const bool is_named_pipe = S_ISFIFO(facts.st_mode) && statfs(path.c_str(), &system) == 0 &&
                               system.f_type != PIPEFS_MAGIC;
    if (!is_named_pipe && !S_ISBLK(facts.st_mode) && !S_ISSOCK(facts.st_mode)) return;
    throw error(status::bad_argument,
                fmt::format("{}={}: neither a file nor a device such as /dev/stdout",
                            name_of(which), path));
}

void expect_no_output_file(const std::string& path, base::knob which) {
    struct stat facts {};
    if (path.empty() || stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return;
    for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
        struct stat own {};
        if (fstat(output, &own) != 0 || own.st_dev != facts.st_dev || own.st_ino != facts.st_ino) {
            continue;
        }
        throw error(
            status::bad_argument,
            fmt::format("{}={}: standard {} goes to this file as well, and each would "
                        "write over the other; legal are another file, or a pipe",
                        name_of(which), path, output == STDOUT_FILENO ? "output" : "error"));
    }
}

void refuse_file(const std::string& path, base::knob which) {
    throw error(status::bad_argument, fmt::format("{}={}: cannot write this file ({})",
                                                  name_of(which), path, std::strerror(errno)));
}

}  // namespace selion::detail
