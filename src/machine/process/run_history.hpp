// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/process/job_environment.hpp"

/// The calls of `run` that this process makes, on whatever machine, one at a time.
namespace selion::machine {

/// One of them, as long as it lives.
class run_call {
public:
    run_call();
    ~run_call();
    run_call(const run_call&) = delete;
    run_call& operator=(const run_call&) = delete;

    /// False: another thread of the process makes one, and this one may not go on.
    bool is_only_one() const { return is_only_one_; }
    /// Notes the machine that the call is for. @return what it came to in the job's first process,
    /// before that started this one: there its function has been called and its records are
    /// written, so this process passes by. Calls on `processes` and others are counted apart: a
    /// program may leave out what it knows to be done.
    std::optional<int> begin_on(std::string_view spec);
    /// Notes what the call has come to. @return that.
    int end_with(int status);

private:
    bool is_only_one_;
    bool is_of_processes_ = false;
};

/// The part of this process in a job is over, and it leaves: calls of `run` that it still makes, in
/// destructors of static objects and functions of `atexit`, pass by. @param status they come to
void pass_by_all_runs(int status);

/// Number of the latest call; that of the first is 1. All processes of a job have it in common.
std::uint32_t job_number();

/// Calls that have ended.
const std::vector<ended_run>& earlier_runs();

/// The part in a job that this process was started for; null: none.
const job_environment* place_in_job();

/// Whether this process was started for a part in a job. It need not have begun it.
bool is_for_rank();

/// Counts a job that writes a file of that name, in this process or in others that this one starts.
/// @return how many of this program were told to write it, all together.
std::uint32_t count_writer(const std::string& path);
/// Notes that this process takes part in the one of that number.
void note_writer(const numbered_file& file);
/// How many there were.
std::uint32_t writers_of(const std::string& path);

/// Whether this process is a copy (fork) of one that was started for a part in a job.
bool is_copy_of_rank();

}  // namespace selion::machine
