// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace selion::machine {

/// What a call of `run` has come to.
struct ended_run {
    bool is_of_processes = false;  ///< on the machine `processes`
    int status = 0;

    friend bool operator==(const ended_run&, const ended_run&) = default;
};

/// A file of a job that other jobs of the program have as well, each under a number of its own.
struct numbered_file {
    std::string path;  ///< absolute, without the number
    std::uint32_t number = 1;

    friend bool operator==(const numbered_file&, const numbered_file&) = default;
};
/// By the variables that name them.
using numbered_files = std::map<std::string, numbered_file>;

/// What a launcher tells a process that it starts, in SELION_JOB_* variables.
struct job_environment {
    int memory_file = -1;
    std::uint32_t process = 0;
    int parent = 0;                  ///< its process id, to notice a parent that died meanwhile
    std::vector<ended_run> earlier;  ///< calls that the program made before this one
    int handed_file = -1;            ///< open in both processes; -1: none
    numbered_files files = {};       ///< that the job writes

    /// "NAME=value" strings.
    std::vector<std::string> to_variables() const;
    /// The calling process's part in a job, if it has one. The variables are taken away, so that
    /// programs which the rank starts do not believe to be ranks.
    static std::optional<job_environment> take();
    /// Whether the variables are there and meant for the calling process, not for the one that
    /// started it.
    static bool is_for_this_process();
    /// Where the program was started, if it has told; null: where it is now.
    static const char* folder_of_start();
    /// Whether a "NAME=value" string is one of those variables.
    static bool owns(std::string_view variable);
};

}  // namespace selion::machine
