// SPDX-License-Identifier: Apache-2.0
#include "machine/threads/threads.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <system_error>

#include "machine/node/doorbell.hpp"
#include "machine/node/job_monitor.hpp"
#include "machine/node/node_machine.hpp"
#include "machine/process/crash_handler.hpp"
#include "machine/process/exit_watch.hpp"
#include "machine/process/failure.hpp"
#include "machine/process/last_words.hpp"
#include "machine/process/rank_thread.hpp"
#include "machine/process/signal_inbox.hpp"

namespace selion::machine {
namespace {

/// Becomes readable when the ranks have returned.
class completion_event {
public:
    completion_event() : file_(eventfd(0, EFD_CLOEXEC)) {
        if (file_ < 0) throw cannot_open("the end of the job");
    }
    ~completion_event() { close(file_); }
    completion_event(const completion_event&) = delete;
    completion_event& operator=(const completion_event&) = delete;

    int file() const { return file_; }
    void set() const { eventfd_write(file_, 1); }

private:
    int file_;
};

class threads_machine final : public node::node_machine {
public:
    using node_machine::node_machine;

    bool is_first_process() const override { return true; }

    int run(const job& work) override {
        result<node::shared_mapping> mapping =
            node::shared_mapping::create(setting_.plan(false, !node::register_heavy_fences()));
        if (!mapping) throw mapping.trouble();
        use(std::move(mapping).value(), 0);
        mapping_->control().thread_level = static_cast<std::uint32_t>(work.thread_level);
        say_choices();
        install_crash_handler(false);
        const exit_watch exits(mapping_->control().ending);
        signal_inbox inbox({SIGUSR1}, {SIGINT, SIGTERM});
        const completion_event done;
        int status = 0;
        rank_thread ranks;
        try {
            ranks = rank_thread([&] {
                status = ranks_->run(work, true);
                done.set();
            });
        } catch (const std::system_error& trouble) {
            throw node::no_thread(trouble);
        }
        watch(inbox, done);
        ranks.join();
        return status;
    }

private:
    /// Sleeps on the program's first thread until the ranks have returned, and explains hangs.
    void watch(signal_inbox& inbox, const completion_event& done) {
        node::job_monitor monitor(setting_, *mapping_);
        inbox.read_here();
        std::array<pollfd, 2> files{pollfd{done.file(), POLLIN, 0},
                                    pollfd{inbox.file(), POLLIN, 0}};
        while (true) {
            poll(files.data(), files.size(), monitor.poll_timeout_ms());
            if (files[0].revents != 0) return;
            while (const int number = inbox.take()) {
                monitor.explain();
                if (number != SIGUSR1) die_with_last_words(number);
            }
            if (monitor.sample()) {
                say_last_words();
                flush_and_leave(1);
            }
        }
    }
};

}  // namespace

machine_kind_info describe_threads() {
    return {.name = "threads",
            .forms = {"threads", "threads:N", "threads:N@C"},
            .summary =
                "ranks are threads of one process, or fibers on C threads; fastest start, "
                "and more ranks than cores work well",
            .facts = {{"memory", "shared; put and get are stores and loads"},
                      {"ranks", "one per usable core unless given; fibers beyond the cores"},
                      {"isolation", "none: ranks share globals and libraries"},
                      {"death of a rank", "ends the process, with a sentence"}},
            .available = true,
            .reason = {}};
}

result<std::unique_ptr<machine>> make_threads(const machine_spec& spec) {
    const result<node_shape> shape = threads_shape(spec, usable_cores());
    if (!shape) return shape.trouble();
    result<node::job_setting> setting = node::make_setting(spec, shape.value());
    if (!setting) return setting.trouble();
    return std::unique_ptr<machine>(new threads_machine(std::move(setting).value()));
}

}  // namespace selion::machine
