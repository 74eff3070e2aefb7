// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "machine/processes/output_target.hpp"

namespace selion::machine {

/// Passes what a process prints on, line by line, with a prefix before each line.
class child_output {
public:
    /// A line that goes on for longer is passed on as several.
    static constexpr std::size_t longest_line = std::size_t{1} << 20;

    /// @param source read end of a pipe, owned. @param target of the lines, not owned; lives
    /// longer.
    child_output(int source, output_target& target, std::string prefix);
    ~child_output();
    child_output(child_output&& other) noexcept;
    child_output& operator=(child_output&&) = delete;

    /// -1 once the process has closed its end, or nobody wants to read what it prints.
    int file() const { return source_; }
    const output_target& target() const { return *target_; }
    /// Reads what is there, as long as the target is not full, and adds the lines that are
    /// complete.
    void pass_on();
    /// After the end of the process: the rest of a line as well. @return whether that is all; false
    /// where the target is full.
    bool pass_all();

private:
    enum class reading { some, nothing, ended };
    reading pass_some();
    void close_source();
    void end_line();

    int source_;
    output_target* target_;
    std::string prefix_;
    std::string rest_;  ///< of a line, without its end
};

}  // namespace selion::machine
