// SPDX-License-Identifier: Apache-2.0
#include "machine/process/run_history.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>

namespace selion::machine {
namespace {

/// The process in which a thread makes a call; a copy of it makes none.
std::atomic<pid_t> calling = 0;

struct run_history {
    std::vector<ended_run> ended;
    std::uint32_t calls = 0;
    std::uint32_t number = 0;  ///< of the latest one, in all processes of its job
    std::optional<job_environment> place;
    std::array<std::size_t, 2> passed{};           ///< of `place->earlier`, by calls of each kind
    std::optional<int> status_when_over;           ///< of this process's part in its job
    pid_t looked_in = 0;                           ///< the process that has looked for its place
    std::map<std::string, std::uint32_t> writers;  ///< jobs by the file that they write
    std::mutex of_writers;                         ///< any thread may start a job elsewhere
};

/// Never destroyed: destructors of the program's own objects may call run as well.
run_history& history() {
    static run_history& all = *new run_history;
    return all;
}

/// What the process was when the program was loaded. A copy of it knows as well.
struct first_state {
    pid_t process;
    bool is_rank;  ///< started for a part in a job
};

const first_state& state_at_start() {
    static const first_state state{getpid(), job_environment::is_for_this_process()};
    return state;
}

[[maybe_unused]] const first_state& looked_at_once = state_at_start();

/// @return the first such call from a place on, of those before this process was started, or their
/// number. The process has a place.
std::size_t next_alike(std::size_t from, bool is_of_processes) {
    const std::vector<ended_run>& earlier = history().place->earlier;
    while (from < earlier.size() && earlier[from].is_of_processes != is_of_processes) ++from;
    return from;
}

void look_for_place() {
    if (history().looked_in != 0) return;
    history().looked_in = getpid();
    history().place = job_environment::take();
}

}  // namespace

run_call::run_call() {
    // acq_rel: what the call before has noted; pairs with its end [run.claim]
    is_only_one_ = calling.exchange(getpid(), std::memory_order_acq_rel) != getpid();
    if (!is_only_one_) return;
    look_for_place();
    ++history().calls;
    const job_environment* const place = place_in_job();
    history().number =
        place != nullptr ? static_cast<std::uint32_t>(place->earlier.size()) + 1 : history().calls;
}

run_call::~run_call() {
    // release: pairs with the next call [run.claim]
    if (is_only_one_) calling.store(0, std::memory_order_release);
}

std::optional<int> run_call::begin_on(std::string_view spec) {
    if (history().status_when_over) return history().status_when_over;
    is_of_processes_ = spec.substr(0, spec.find_first_of(":,")) == "processes";
    const job_environment* const place = place_in_job();
    if (place == nullptr) return std::nullopt;
    const std::size_t next = next_alike(history().passed[is_of_processes_], is_of_processes_);
    if (next == place->earlier.size()) return std::nullopt;
    return place->earlier[next].status;
}

int run_call::end_with(int status) {
    history().ended.push_back({is_of_processes_, status});
    const job_environment* const place = place_in_job();
    std::size_t& passed = history().passed[is_of_processes_];
    if (place != nullptr) {
        passed = std::min(next_alike(passed, is_of_processes_) + 1, place->earlier.size());
    }
    return status;
}

void pass_by_all_runs(int status) {
    history().status_when_over = status;
    // release: pairs with the next call [run.claim]
    calling.store(0, std::memory_order_release);
}

std::uint32_t job_number() { return history().number; }

const std::vector<ended_run>& earlier_runs() { return history().ended; }

const job_environment* place_in_job() {
    return history().place && history().looked_in == getpid() ? &*history().place : nullptr;
}

bool is_for_rank() { return state_at_start().is_rank && state_at_start().process == getpid(); }

std::uint32_t count_writer(const std::string& path) {
    const std::scoped_lock hold(history().of_writers);
    return ++history().writers[path];
}

void note_writer(const numbered_file& file) {
    const std::scoped_lock hold(history().of_writers);
    std::uint32_t& number = history().writers[file.path];
    number = std::max(number, file.number);
}

std::uint32_t writers_of(const std::string& path) {
    const std::scoped_lock hold(history().of_writers);
    const auto found = history().writers.find(path);
    return found == history().writers.end() ? 0 : found->second;
}

bool is_copy_of_rank() { return state_at_start().is_rank && state_at_start().process != getpid(); }

}  // namespace selion::machine
