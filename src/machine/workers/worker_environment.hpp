// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace selion::machine::workers {

/// What a process is told that is started as a worker, in the variable SELION_JOB_WORKER.
struct worker_environment {
    int memory_file = -1;
    int lifeline = -1;  ///< end of a pipe that is closed when the host ends, however it does
    std::uint32_t worker = 0;
    int parent = 0;

    /// "NAME=value".
    std::string to_variable() const;
    /// The calling process's place, if it is a worker. The variable is taken away.
    /// @error system_failure: it was started by a child of the host, which it cannot serve.
    static std::optional<worker_environment> take();
    /// Whether the calling process was started as a worker, and has not taken its place yet.
    static bool is_there();
    static bool owns(std::string_view variable);
};

/// If this process was started as a worker: serves until its host has done with it.
/// @return whether it was.
bool serve_if_worker();

}  // namespace selion::machine::workers
