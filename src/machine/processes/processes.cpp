// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/processes.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "machine/crash_handler.hpp"
#include "machine/exit_watch.hpp"
#include "machine/failure.hpp"
#include "machine/node/doorbell.hpp"
#include "machine/node/node_machine.hpp"
#include "machine/process_memory.hpp"
#include "machine/processes/job_environment.hpp"
#include "machine/processes/process_limit.hpp"
#include "machine/processes/supervisor.hpp"

namespace selion::machine {
namespace {

/// What the calls of `run` in this process have come to. A process that a launcher started must
/// pass by those that the launcher had finished before.
struct run_history {
    std::vector<int> statuses;
    std::optional<job_environment> place;
    bool has_looked = false;
};
run_history history;

void forward_to_parent(int number) { kill(getppid(), number); }

/// Without these, files that the job opens would take the places of the standard ones.
void hold_standard_files() {
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
        if (fcntl(file, F_GETFD) < 0) open("/dev/null", O_RDWR);
    }
}

/// While it lives, children that end wait until they are asked for, also in a program that was
/// started by one that ignores its children.
class kept_children {
public:
    kept_children() {
        sigaction(SIGCHLD, nullptr, &before_);
        if (before_.sa_handler == SIG_IGN) ::signal(SIGCHLD, SIG_DFL);
    }
    ~kept_children() {
        if (before_.sa_handler == SIG_IGN) sigaction(SIGCHLD, &before_, nullptr);
    }
    kept_children(const kept_children&) = delete;
    kept_children& operator=(const kept_children&) = delete;

private:
    struct sigaction before_ {};
};

class processes_machine final : public node::node_machine {
public:
    explicit processes_machine(node::job_setting setting) : node_machine(std::move(setting)) {
        if (!history.has_looked) history.place = job_environment::take();
        history.has_looked = true;
    }

    bool is_first_process() const override { return !history.place; }
    int handed_file() const override { return history.place ? history.place->handed_file : -1; }

    int run(const job& work) override {
        const std::size_t own_number = history.statuses.size();
        int status = 0;
        if (!history.place) {
            status = supervise(work);
        } else if (own_number < history.place->earlier.size()) {
            status = history.place->earlier[own_number];
        } else {
            run_ranks(work, *history.place);
        }
        history.statuses.push_back(status);
        return status;
    }

private:
    int supervise(const job& work) {
        const std::string trouble = too_many_processes(setting_.shape);
        if (!trouble.empty()) throw error(status::bad_argument, trouble);
        hold_standard_files();
        const kept_children children;
        const bool fence_signals = !node::register_heavy_fences();
        result<node::shared_mapping> mapping =
            node::shared_mapping::create(setting_.plan(true, fence_signals));
        if (!mapping) throw mapping.trouble();
        use(std::move(mapping).value(), 0);
        mapping_->control().thread_level = static_cast<std::uint32_t>(work.thread_level);
        say_choices();
        std::fflush(nullptr);
        supervisor processes(setting_, *mapping_, history.statuses, work.handed_file);
        return processes.run();
    }

    [[noreturn]] void run_ranks(const job& work, const job_environment& place) {
        if (getppid() != place.parent) std::_Exit(1);
        result<node::shared_mapping> mapping = node::shared_mapping::attach(place.memory_file);
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
        publish(mapping_->process(place.process).has_finished, 1u);
        std::exit(exit_status_of(status));
    }
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
        info.reason =
            "the kernel refuses memfd_create (Linux 3.17 or newer, not blocked by a "
            "sandbox)";
    }
    return info;
}

result<std::unique_ptr<machine>> make_processes(const machine_spec& spec) {
    const result<node_shape> shape = processes_shape(spec, usable_cores());
    if (!shape) return shape.trouble();
    result<node::job_setting> setting = node::make_setting(spec, shape.value());
    if (!setting) return setting.trouble();
    return std::unique_ptr<machine>(new processes_machine(std::move(setting).value()));
}

}  // namespace selion::machine
