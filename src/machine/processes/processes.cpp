// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "machine/host/memory_file.hpp"
#include "machine/host/one_file.hpp"
#include "machine/host/process_memory.hpp"
#include "machine/node/doorbell.hpp"
#include "machine/node/node_machine.hpp"
#include "machine/process/crash_handler.hpp"
#include "machine/process/exit_watch.hpp"
#include "machine/process/failure.hpp"
#include "machine/process/job_environment.hpp"
#include "machine/process/last_words.hpp"
#include "machine/process/run_history.hpp"
#include "machine/processes/process_limit.hpp"
#include "machine/processes/supervisor.hpp"

namespace selion::machine {
namespace {

void forward_to_parent(int number) { kill(getppid(), number); }

/// Without these, files that the job opens would take the places of the standard ones.
void hold_standard_files() {
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
        if (fcntl(file, F_GETFD) < 0) open("/dev/null", O_RDWR);
    }
}

/// While it lives, children that end wait until they are asked for, also in a program that was
/// started by one that ignores its children, or that has told the system not to keep them.
class kept_children {
public:
    kept_children() {
        sigaction(SIGCHLD, nullptr, &before_);
        struct sigaction wanted = before_;
        const bool ignores = (wanted.sa_flags & SA_SIGINFO) == 0 && wanted.sa_handler == SIG_IGN;
        is_changed_ = ignores || (wanted.sa_flags & SA_NOCLDWAIT) != 0;
        if (!is_changed_) return;
        if (ignores) wanted.sa_handler = SIG_DFL;
        wanted.sa_flags &= ~SA_NOCLDWAIT;
        sigaction(SIGCHLD, &wanted, nullptr);
    }
    ~kept_children() {
        if (is_changed_) sigaction(SIGCHLD, &before_, nullptr);
    }
    kept_children(const kept_children&) = delete;
    kept_children& operator=(const kept_children&) = delete;

private:
    struct sigaction before_ {};
    bool is_changed_ = false;
};

/// Opens what the first process has handed over once more. The program may close all that it has
/// not opened (closefrom) before it calls run, and open other files in its place.
int open_again(int file, int parent, int mode) {
    return open(fmt::format("/proc/{}/fd/{}", parent, file).c_str(), mode | O_CLOEXEC);
}

/// What has been handed over to this process, under that number or a new one.
int handed_over(int file, int parent) {
    const int again = open_again(file, parent, O_RDONLY);
    if (again < 0 || again == file) return file;
    if (!are_one_file(file, again)) return again;
    close(again);
    return file;
}

class processes_machine final : public node::node_machine {
public:
    explicit processes_machine(node::job_setting setting) : node_machine(std::move(setting)) {
        const job_environment* const place = place_in_job();
        if (place == nullptr || place->handed_file < 0) return;
        handed_ = handed_over(place->handed_file, place->parent);
    }

    bool is_first_process() const override { return place_in_job() == nullptr; }
    int handed_file() const override { return handed_; }
    const numbered_files* handed_files() const override {
        const job_environment* const place = place_in_job();
        return place != nullptr ? &place->files : nullptr;
    }

    int run(const job& work) override {
        const job_environment* const place = place_in_job();
        if (place != nullptr) run_ranks(work, *place);
        return supervise(work);
    }

    [[noreturn]] void end_job(const failure& why) override {
        if (!is_first_process()) node_machine::end_job(why);
        // Another thread than the one that supervises: the ranks die with this process.
        announce(why);
        flush_and_leave(1);
    }

private:
    int supervise(const job& work) {
        const std::string trouble = too_many_processes(setting_.shape);
        if (!trouble.empty()) throw error(status::bad_argument, trouble);
        hold_standard_files();
        const kept_children children;
        std::uint32_t ending = 0;  // not that of the ranks, who may end the job at the same time
        const exit_watch exits(ending);
        const bool fence_signals = !node::register_heavy_fences();
        result<node::shared_mapping> mapping =
            node::shared_mapping::create(setting_.plan(true, fence_signals));
        if (!mapping) throw mapping.trouble();
        use(std::move(mapping).value(), 0);
        mapping_->control().thread_level = static_cast<std::uint32_t>(work.thread_level);
        say_choices();
        // What they print comes after it. Not all streams: another thread may wait for input.
        std::fflush(stdout);
        std::fflush(stderr);
        supervisor processes(
            setting_, *mapping_,
            {.earlier = earlier_runs(), .handed_file = work.handed_file, .files = work.files});
        return processes.run();
    }

    [[noreturn]] void run_ranks(const job& work, const job_environment& place) {
        // A program with privileges of its own (set-uid, file capabilities) has lost the request.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != place.parent) std::_Exit(1);
        const bool is_open = is_sealed_memory_file(place.memory_file);
        result<node::shared_mapping> mapping = node::shared_mapping::attach(
            is_open ? place.memory_file : open_again(place.memory_file, place.parent, O_RDWR));
        if (!mapping) {
            base::say(mapping.trouble().what());
            std::_Exit(1);  // what follows the call is the first process's
        }
        // Sleepers of every process must be registered, whoever created the job.
        if (mapping.value().control().fence_signals == 0) node::register_heavy_fences();
        use(std::move(mapping).value(), place.process);
        mapping_->close_file();
        prctl(PR_SET_NAME, program_invocation_short_name);  // not "exe", which was executed
        permit_reading_by(place.parent);
        install_crash_handler(true);
        struct sigaction before {};
        if (sigaction(SIGUSR1, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
            ::signal(SIGUSR1, forward_to_parent);
        }
        if (base::knob_is_on(base::knob::prefix)) {
            std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
        }
        int status = 0;
        {
            const exit_watch exits(mapping_->control().ending);
            status = ranks_->run(work, true);
        }
        die_if_interrupted();
        publish(mapping_->process(place.process).has_finished, 1u);
        // What runs as the program leaves may call run again: that is for the first process.
        pass_by_all_runs(exit_status_of(status));
        std::exit(exit_status_of(status));
    }

    int handed_ = -1;  ///< open in the first process as well; -1: none
};

bool has_memory_files() {
    const int file = memfd_create("selion-check", MFD_CLOEXEC);
    if (file < 0) return false;
    close(file);
    return true;
}

}  // namespace

machine_kind_info describe_processes() {
    machine_kind_info info{
        .name = "processes",
        .forms = {"processes", "processes:N", "processes:PxT"},
        .summary =
            "ranks are processes over one shared mapping, or T threads in each of P "
            "processes; private memory is private",
        .facts = {{"memory",
                   "shared mapping (a sealed memory file); put and get are stores and "
                   "loads"},
                  {"ranks", "one process per usable core unless given; more than cores is allowed"},
                  {"isolation", "private memory, globals and libraries of each process"},
                  {"death of a rank", "ends the job within a second, with a sentence"}},
        .available = true,
        .reason = {}};
    if (!has_memory_files()) {
        info.available = false;
        info.reason = no_memory_files;
    }
    return info;
}

result<std::unique_ptr<machine>> make_processes(const machine_spec& spec) {
    if (is_copy_of_rank()) {
        return error(status::bad_argument,
                     fmt::format("machine \"{}\": this process is a copy (fork) of one that such "
                                 "a job has started, and jobs that begin in copies would start "
                                 "each other without end; call run in the process itself, or use "
                                 "the machine threads",
                                 spec.text));
    }
    const result<node_shape> shape = processes_shape(spec, usable_cores());
    if (!shape) return shape.trouble();
    result<node::job_setting> setting = node::make_setting(spec, shape.value());
    if (!setting) return setting.trouble();
    return std::unique_ptr<machine>(new processes_machine(std::move(setting).value()));
}

}  // namespace selion::machine
