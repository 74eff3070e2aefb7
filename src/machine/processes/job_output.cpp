// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/job_output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "machine/host/one_file.hpp"

namespace selion::machine {

job_output::job_output() {
    targets_.emplace_back(STDERR_FILENO);
    if (!are_one_file(STDOUT_FILENO, STDERR_FILENO)) targets_.emplace_back(STDOUT_FILENO);
}

void job_output::add(const output_pipes& pipes, const std::string& prefix) {
    close(pipes.out[1]);
    close(pipes.err[1]);
    outputs_.emplace_back(pipes.out[0], targets_.back(), prefix);
    outputs_.emplace_back(pipes.err[0], targets_.front(), prefix);
}

void job_output::list_files(std::vector<pollfd>& files) const {
    for (const child_output& output : outputs_) {
        if (output.file() < 0 || output.target().is_full()) continue;
        files.push_back({output.file(), POLLIN, 0});
    }
    for (const output_target& target : targets_) {
        if (target.has_waiting()) files.push_back({target.file(), POLLOUT, 0});
    }
}

void job_output::write_some() {
    for (output_target& target : targets_) target.write_some();
}

void job_output::pass_on() {
    write_some();
    for (child_output& output : outputs_) output.pass_on();
    write_some();
}

bool job_output::is_held_up() const {
    return std::ranges::any_of(targets_, [](const output_target& one) { return one.is_full(); });
}

bool job_output::pass_all() {
    write_some();
    bool is_all = true;
    for (child_output& output : outputs_) is_all = output.pass_all() && is_all;
    write_some();
    for (const output_target& target : targets_) is_all = is_all && !target.has_waiting();
    return is_all;
}

bool job_output::pass_lines_before_sentence() {
    targets_.front().write_some();
    return !targets_.front().has_waiting();
}

int job_output::trouble() const {
    for (const output_target& target : targets_) {
        if (target.trouble() != 0 && target.trouble() != EPIPE) return target.trouble();
    }
    return 0;
}

}  // namespace selion::machine
