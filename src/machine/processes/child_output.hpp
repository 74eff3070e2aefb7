// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace selion::machine {

/// Passes what a process prints on, line by line, with a prefix before each line.
class child_output {
public:
    /// @param source read end of a pipe, owned. @param target descriptor to write to, not owned.
    child_output(int source, int target, std::string prefix);
    ~child_output();
    child_output(child_output&& other) noexcept;
    child_output& operator=(child_output&&) = delete;

    /// -1 once the process has closed its end.
    int file() const { return source_; }
    /// Reads what is there and writes the lines that are complete.
    void pass_on();

private:
    bool pass_some();
    void write_line(std::string_view line);

    int source_;
    int target_;
    std::string prefix_;
    std::string rest_;
};

}  // namespace selion::machine
