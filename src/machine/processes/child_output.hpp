// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

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
    /// All that is there at the end of the process, the rest of a line as well.
    void pass_all();
    /// Why lines are lost, as `errno` says it; 0 as long as none is. Where nobody reads any more
    /// (EPIPE) the process sees it too.
    int trouble() const { return trouble_; }

private:
    bool pass_some();
    void write_line(std::string_view line);
    void give_up(int reason);

    int source_;
    int target_;
    std::string prefix_;
    std::string rest_;  ///< of a line, without its end
    int trouble_ = 0;
};

}  // namespace selion::machine
