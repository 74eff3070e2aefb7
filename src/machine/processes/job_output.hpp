// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <array>
#include <list>
#include <string>
#include <vector>

#include "machine/processes/child_output.hpp"
#include "machine/processes/output_target.hpp"

namespace selion::machine {

/// The pipes of one process for its standard output and standard error.
struct output_pipes {
    std::array<int, 2> out{-1, -1};  ///< to read from, to write to
    std::array<int, 2> err{-1, -1};
};

/// Output of the processes of a job, where it is to have their numbers before each line, on its way
/// to the standard files of this process.
class job_output {
public:
    job_output();

    /// A process that has its ends of the pipes open; those of this process are owned from now on.
    void add(const output_pipes& pipes, const std::string& prefix);
    /// What there is to be polled for.
    void list_files(std::vector<pollfd>& files) const;
    /// Passes on what there is, as far as somebody takes it.
    void pass_on();
    /// Whether nobody takes away what is there already, so that processes wait.
    bool is_held_up() const;
    /// After the end of all processes. @return whether that was all.
    bool pass_all();
    /// Lines for standard error first that wait there. @return whether none does any more.
    bool pass_lines_before_sentence();
    /// Why lines are lost, as `errno` says it; 0 as long as none is, also where nobody reads any
    /// more, which processes see themselves.
    int trouble() const;

private:
    void write_some();

    std::list<output_target> targets_;  ///< one, if all goes to the same file
    std::vector<child_output> outputs_;
};

}  // namespace selion::machine
