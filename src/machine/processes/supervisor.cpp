// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/supervisor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "machine/node/doorbell.hpp"
#include "machine/process/failure.hpp"
#include "machine/process/job_environment.hpp"
#include "machine/process/program_start.hpp"

namespace selion::machine {
namespace {

/// How long processes may take to end when asked, before they are killed.
constexpr std::int64_t grace_ns = 500'000'000;
constexpr int grace_poll_ms = 20;
/// How late the end of a process is noticed where the program handles SIGCHLD itself.
constexpr int longest_poll_ms = 1000;

/// Who supervises, for what has no argument to tell it; one at a time in a process.
struct {
    supervisor* owner = nullptr;
    pid_t thread = 0;
    base::room_for_saying room{};
} supervising;

std::string ranks_of(const node::job_setting& setting, std::uint32_t process) {
    const std::uint32_t each = setting.shape.ranks_per_process;
    const std::uint32_t first = process * each;
    return each == 1 ? fmt::format("rank {} of {}", first, setting.shape.ranks())
                     : fmt::format("process {} (ranks {}-{} of {})", process, first,
                                   first + each - 1, setting.shape.ranks());
}

}  // namespace

supervisor::supervisor(const node::job_setting& setting, const node::shared_mapping& mapping,
                       job_environment told)
    : setting_(setting),
      mapping_(mapping),
      told_(std::move(told)),
      inbox_({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1}),
      monitor_(setting, mapping),
      leaving_(setting, mapping) {
    inbox_.read_here();
    if (base::knob_text(base::knob::prefix) && base::knob_is_on(base::knob::prefix)) {
        output_.emplace();
    }
    supervising.owner = this;
    supervising.thread = gettid();
    supervising.room = {
        +[] { return supervising.thread != gettid() || supervising.owner->await_room_to_tell(); },
        sentences_.file()};
    set_room_for_telling(&supervising.room);
}

supervisor::~supervisor() {
    set_room_for_telling(nullptr);
    for (const child_process& one : children_) {
        if (one.has_ended) continue;
        kill(one.id, SIGKILL);
        waitpid(one.id, nullptr, 0);
    }
}

int supervisor::run() {
    start_all();
    while (running_ != 0) {
        wait_for_event();
        take_signals();
        collect_ended();
        if (output_) output_->pass_on();
        judge_output();
        look_for_hangs();
        kill_late_ones();
    }
    pass_rest();
    take_signals();  // one that came while something was told
    if (interrupted_by_ != 0) {
        tell(fmt::format("interrupted by {}; all ranks have ended", strsignal(interrupted_by_)));
        inbox_.have_effect(interrupted_by_);
        return 128 + interrupted_by_;  // the signal is blocked or handled
    }
    return status_;
}

void supervisor::look_for_hangs() {
    if (kill_at_ns_ != 0) return;
    const bool is_hang = monitor_.sample();
    const bool is_held_up = output_ && output_->is_held_up();
    if (!leaving_.sample(children_, is_held_up) && !is_hang) return;
    status_ = 1;
    end_all();
}

/// Those that have not ended when they were asked to.
void supervisor::kill_late_ones() const {
    if (kill_at_ns_ == 0 || node::steady_now_ns() < kill_at_ns_) return;
    for (const child_process& one : children_) {
        if (!one.has_ended) kill(one.id, SIGKILL);
    }
}

/// What the processes have printed and nobody has taken yet, for as long as that takes; or until
/// somebody wants the end.
void supervisor::pass_rest() {
    while (output_ && !output_->pass_all() && !has_waited_enough()) {
        judge_output();
        wait_for_event();
        take_signals();
    }
    judge_output();
    output_.reset();
}

/// Whether what nobody takes away is lost: some time after a signal that wants the end.
bool supervisor::has_waited_enough() const {
    return unwanted_since_ns_ != 0 && node::steady_now_ns() - unwanted_since_ns_ >= 2 * grace_ns;
}

/// Of `tell`: waits for whoever reads standard error, but obeys signals meanwhile.
bool supervisor::await_room_to_tell() {
    while (true) {
        const bool has_turn = !output_ || output_->pass_lines_before_sentence();
        pollfd room{sentences_.file(), POLLOUT, 0};
        if (has_turn && (poll(&room, 1, 0) < 0 || room.revents != 0)) return true;
        note_signals();
        if (has_waited_enough()) return false;
        kill_late_ones();
        std::array<pollfd, 2> files{pollfd{inbox_.file(), POLLIN, 0}, room};
        poll(files.data(), files.size(), has_turn ? idle_ms() : grace_poll_ms);
    }
}

/// All of them, or those that were there when somebody wanted the job to end.
void supervisor::start_all() {
    children_.reserve(setting_.shape.processes);
    while (children_.size() < setting_.shape.processes && kill_at_ns_ == 0) {
        start(static_cast<std::uint32_t>(children_.size()));
        take_signals();
        // Thousands take a while.
        if (children_.size() % 64 == 0) collect_ended();
    }
}

void supervisor::start(std::uint32_t process) {
    output_pipes pipes;
    if (output_ &&
        (pipe2(pipes.out.data(), O_CLOEXEC) != 0 || pipe2(pipes.err.data(), O_CLOEXEC) != 0)) {
        throw error(status::system_failure,
                    fmt::format("cannot make pipes for the output of {} processes ({}); raise "
                                "`ulimit -n`",
                                setting_.shape.processes, std::strerror(errno)));
    }
    const pid_t own_id = getpid();
    const pid_t id = fork();
    if (id < 0) {
        throw error(status::system_failure,
                    fmt::format("cannot start process {} of {} ({}); raise `ulimit -u` or ask for "
                                "fewer processes",
                                process, setting_.shape.processes, std::strerror(errno)));
    }
    if (id == 0) become(process, own_id, pipes);
    children_.push_back({id, false});
    ++running_;
    if (!output_) return;
    const std::uint32_t each = setting_.shape.ranks_per_process;
    const std::string prefix =
        each == 1 ? fmt::format("[{}] ", process)
                  : fmt::format("[{}-{}] ", process * each, process * each + each - 1);
    output_->add(pipes, prefix);
}

/// The rest of a forked process's life as copy of this one: prepares and executes the program anew.
void supervisor::become(std::uint32_t process, pid_t parent, const output_pipes& pipes) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it died before it could be a reason to die
    inbox_.restore_mask();
    fcntl(mapping_.file(), F_SETFD, 0);
    if (told_.handed_file >= 0) fcntl(told_.handed_file, F_SETFD, 0);
    if (process != 0) {
        const int nothing = open("/dev/null", O_RDONLY);
        dup2(nothing, STDIN_FILENO);
        close(nothing);
    }
    if (output_) {
        dup2(pipes.out[1], STDOUT_FILENO);
        dup2(pipes.err[1], STDERR_FILENO);
    }
    const char* const folder = job_environment::folder_of_start();
    if (folder != nullptr && chdir(folder) != 0) {
        base::say(fmt::format("cannot go back to the folder where the program was started, {}: {}",
                              folder, std::strerror(errno)));
        _exit(127);
    }
    std::vector<std::string> arguments = own_arguments();  // a copy: to be pointed into
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        if (!job_environment::owns(*variable)) variables.emplace_back(*variable);
    }
    job_environment place = told_;
    place.memory_file = mapping_.file();
    place.process = process;
    place.parent = parent;
    std::ranges::move(place.to_variables(), std::back_inserter(variables));
    execve("/proc/self/exe", pointers_to(arguments).data(), pointers_to(variables).data());
    base::say(fmt::format("cannot execute this program anew: {}", std::strerror(errno)));
    _exit(127);
}

void supervisor::wait_for_event() {
    std::vector<pollfd> files{{inbox_.file(), POLLIN, 0}};
    if (output_) output_->list_files(files);
    poll(files.data(), files.size(), idle_ms());
}

int supervisor::idle_ms() const {
    if (kill_at_ns_ != 0 || unwanted_since_ns_ != 0) return grace_poll_ms;
    const int sample_ms = monitor_.poll_timeout_ms();
    return sample_ms < 0 ? longest_poll_ms : sample_ms;
}

void supervisor::note_signals() {
    while (const int number = inbox_.take()) {
        noted_.push_back(number);
        const bool wants_end = number == SIGINT || number == SIGTERM || number == SIGHUP;
        if (wants_end && unwanted_since_ns_ == 0) unwanted_since_ns_ = node::steady_now_ns();
    }
}

void supervisor::take_signals() {
    note_signals();
    while (!noted_.empty()) {
        const int number = noted_.front();
        noted_.erase(noted_.begin());
        if (number == SIGUSR1) monitor_.explain();
        if (number == SIGINT || number == SIGTERM || number == SIGHUP) {
            if (interrupted_by_ == 0 && number != SIGHUP) monitor_.explain();
            interrupted_by_ = number;
            end_all();
        }
    }
}

void supervisor::collect_ended() {
    for (std::uint32_t process = 0; process < children_.size(); ++process) {
        child_process& one = children_[process];
        int wait_status = 0;
        const pid_t ended = one.has_ended ? 0 : waitpid(one.id, &wait_status, WNOHANG);
        if (ended == 0) continue;
        one.has_ended = true;
        --running_;
        if (ended > 0) {
            judge(process, wait_status);
        } else if (const std::optional<int> noted = noted_status(process)) {
            judge(process, *noted);
        } else {
            judge_unseen(process);
        }
    }
}

/// As wait would tell it, of a process whose status a handler of the program has taken; nothing if
/// its ranks did not note how they ended.
std::optional<int> supervisor::noted_status(std::uint32_t process) const {
    const node::process_record& record = mapping_.process(process);
    if (look_at(record.has_finished) != 0) {
        return W_EXITCODE(exit_status_of(look_at(record.status)), 0);
    }
    const std::uint32_t signal_number = mapping_.record(telling_rank_of(process)).crash_signal;
    if (signal_number == 0) return std::nullopt;
    return W_EXITCODE(0, static_cast<int>(signal_number));
}

/// The end of a process before its function returned, of which nobody knows how it came.
void supervisor::judge_unseen(std::uint32_t process) {
    if (kill_at_ns_ != 0) return;  // it was asked to end
    status_ = 1;
    if (look_at(mapping_.control().ending) == 0) {
        const std::uint32_t each = setting_.shape.ranks_per_process;
        std::optional<rank_id> blamed;
        if (each == 1) blamed = process;
        const std::string sentence = fmt::format(
            "{} has ended before its function returned, {}; how is not known, because the "
            "program's own handler of SIGCHLD has taken its status; the job ends",
            ranks_of(setting_, process), last_call_text(mapping_.record(telling_rank_of(process))));
        announce({blamed, sentence, {}});
    }
    end_all();
}

/// Decides what the end of one process means for the job.
void supervisor::judge(std::uint32_t process, int wait_status) {
    const bool has_finished = look_at(mapping_.process(process).has_finished) != 0;
    const bool has_exited = WIFEXITED(wait_status);
    const bool was_explained = look_at(mapping_.control().ending) != 0;
    if (has_exited && has_finished) {
        if (status_ == 0) status_ = WEXITSTATUS(wait_status);
        // It made a mistake as it left, and others that do the same wait for their end.
        if (was_explained && WEXITSTATUS(wait_status) != 0) end_all();
        return;
    }
    if (kill_at_ns_ != 0) return;  // it was asked to end
    if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGINT) {
        interrupted_by_ = SIGINT;  // the terminal's Ctrl-C reaches every process
        if (unwanted_since_ns_ == 0) unwanted_since_ns_ = node::steady_now_ns();
    } else if (!was_explained) {
        announce_death(process, wait_status);
    }
    status_ = has_exited ? std::max(1, WEXITSTATUS(wait_status)) : 128 + WTERMSIG(wait_status);
    end_all();
}

/// Ends the job where lines of ranks are lost. Who reads no more has had enough: then ranks hear
/// of it themselves.
void supervisor::judge_output() {
    if (has_lost_lines_ || !output_ || output_->trouble() == 0) return;
    has_lost_lines_ = true;
    status_ = std::max(1, status_);
    tell(fmt::format("the output of the ranks cannot be written ({}); the job ends",
                     std::strerror(output_->trouble())));
    end_all();
}

void supervisor::end_all() {
    if (kill_at_ns_ != 0) return;
    kill_at_ns_ = node::steady_now_ns() + grace_ns;
    for (const child_process& one : children_) {
        if (!one.has_ended) kill(one.id, SIGTERM);
    }
}

/// The rank of a process whose last call tells most of its end: one that has noted the signal it
/// dies of, or else one whose function has not returned.
std::uint32_t supervisor::telling_rank_of(std::uint32_t process) const {
    const std::uint32_t each = setting_.shape.ranks_per_process;
    std::uint32_t found = process * each;
    for (std::uint32_t rank = (process + 1) * each; rank-- > process * each;) {
        if (look_at(mapping_.record(rank).crash_signal) != 0) return rank;
        if (look_at(mapping_.record(rank).has_finished) == 0) found = rank;
    }
    return found;
}

void supervisor::announce_death(std::uint32_t process, int wait_status) const {
    const std::uint32_t rank = telling_rank_of(process);
    const bool has_crashed = look_at(mapping_.record(rank).crash_signal) != 0;
    const bool is_known = has_crashed || setting_.shape.ranks_per_process == 1;
    const std::string who = has_crashed ? fmt::format("rank {} of {}", rank, setting_.shape.ranks())
                                        : ranks_of(setting_, process);
    const call_record& record = mapping_.record(rank);
    const std::string what = last_call_text(record);
    std::optional<rank_id> blamed;
    if (is_known) blamed = rank;
    if (WIFEXITED(wait_status)) {
        const std::string sentence = fmt::format(
            "{} left with exit status {} before its function returned, {}; the job "
            "ends",
            who, WEXITSTATUS(wait_status), what);
        return announce({blamed, sentence, {}});
    }
    const int number = WTERMSIG(wait_status);
    const std::string sentence =
        fmt::format("{} was ended by signal {} ({}){}, {}; the job ends", who, number,
                    strsignal(number), crash_place_text(record), what);
    announce({blamed, sentence, {}});
}

}  // namespace selion::machine
