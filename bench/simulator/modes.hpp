// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// A number that the command line may set: `rounds=5`.
struct number {
    std::string_view name;
    std::uint64_t value;
    std::uint64_t least = 1;
};

/// What the command line asks a program for.
struct request {
    int argc;
    char** argv;
    std::vector<number> numbers;

    /// @pre the mode has such a number.
    std::uint64_t operator[](std::string_view name) const;
};

/// One of the things that a program measures. It prints one JSON line.
struct mode {
    std::string_view name;
    std::vector<number> numbers;  ///< with the values that they have by themselves
    int (*run)(const request& what);
};

/// Runs the mode that `PROGRAM MODE [NAME=NUMBER ...]` names. Says what is wrong with the arguments
/// and returns 2. @return the program's exit status.
int run_mode(int argc, char** argv, std::span<const mode> modes);

}  // namespace bench
