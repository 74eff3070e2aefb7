// SPDX-License-Identifier: Apache-2.0
// surroundings WHAT ...: what of arguments, environment, input, output and folder reaches which
// rank.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <selion/selion.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

void say(const std::string& text) {
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) std::abort();
}

std::string name_of(const selion::world& world) { return "rank " + std::to_string(world.rank()); }

void tell_arguments(const selion::world& world, int argc, char** argv) {
    const char* colour = std::getenv("COLOUR");
    std::string text = name_of(world) + " sees";
    for (int i = 2; i < argc; ++i) text += std::string(" <") + argv[i] + ">";
    say(text + " and " + (colour != nullptr ? colour : "no colour") + "\n");
}

void print_lines(const selion::world& world, bool leaves_one_open) {
    std::printf("one\n");
    flockfile(stdout);  // the process may have other ranks
    std::printf("two ");
    std::printf("halves\n");
    funlockfile(stdout);
    std::fprintf(stderr, "trouble\n");
    if (world.rank() == 0 && leaves_one_open) std::printf("no end of line");
}

void read_input(const selion::world& world) {
    std::size_t bytes = 0;
    while (std::getchar() != EOF) ++bytes;
    say(name_of(world) + " reads " + std::to_string(bytes) + "\n");
}

/// Lists the variables that a program which a rank starts would take for its own place in a job.
int start_programs(const selion::world& world, const std::string& self) {
    if (world.rank() != 1) return 0;
    const std::string list = "env | grep SELION_JOB_; true";
    const std::string again = "SELION_MACHINE=processes:2 '" + self + "' arguments inner";
    return std::system(list.c_str()) | std::system(again.c_str());
}

/// What the child of a rank does in its parent's name. @return its status, if it returns.
int act_as_rank(selion::world& world, selion::global_ptr<int> place, std::string_view how) {
    if (how == "meets") world.barrier();
    if (how == "puts") selion::put(place.on(world.rank()), 1);
    if (how == "throws") throw std::runtime_error("lost");
    if (how == "exits") std::exit(9);
    if (how == "runs") {
        setenv("SELION_MACHINE", "threads:2", 1);
        std::array<char, 5> name{"copy"};
        std::array<char*, 2> arguments{name.data(), nullptr};
        return selion::run(1, arguments.data(), [](selion::world&) {}) + 7;
    }
    return 7;
}

/// Each rank has a child, and waits for its end before all meet.
int fork_one(selion::world& world, std::string_view how) {
    const auto place = selion::allocate<int>(world, 1);
    const pid_t child = fork();
    if (child == 0) return act_as_rank(world, place, how);
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 1;
    const auto next = place.on((world.rank() + 1) % world.size());
    selion::put(next, selion::get(next) + 42);
    world.barrier();
    const bool is_right = *place.local() == 42;
    say("the child left with " + std::to_string(WEXITSTATUS(status)) +
        (is_right ? "\n" : ", and its rank met nobody\n"));
    return 0;
}

void ignore_signal(int) {}

/// Who handles SIGTERM and SIGINT now.
void tell_handlers(const std::string& when) {
    say(when);
    for (const int number : {SIGTERM, SIGINT}) {
        struct sigaction now {};
        sigaction(number, nullptr, &now);
        const bool is_default = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
        say(now.sa_handler == ignore_signal ? " the program"
            : is_default                    ? " nobody"
                                            : " the runtime");
    }
    say("\n");
}

/// The program takes SIGTERM for itself, before the job or during it.
void handle_signals(const selion::world& world, std::string_view since) {
    if (world.rank() != 0) return;
    if (since == "during") {
        tell_handlers("first:");
        signal(SIGTERM, ignore_signal);
    }
    tell_handlers("during:");
}

std::string death_of(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
        return "did not die of a signal";
    return "died of " + std::to_string(WTERMSIG(status));
}

/// Copies of a rank's process, one of which becomes another program, get SIGTERM.
void end_children(const selion::world& world) {
    if (world.rank() != 0) return;
    const pid_t copy = fork();
    if (copy == 0) {
        raise(SIGTERM);
        _exit(3);
    }
    say("fork " + death_of(copy) + "\n");
    const pid_t other = fork();
    if (other == 0) {
        execlp("sh", "sh", "-c", "kill -TERM $$; exit 3", nullptr);
        _exit(4);
    }
    say("exec " + death_of(other) + "\n");
}

void print_much(const selion::world& world, int count) {
    for (int i = 0; i < count; ++i) {
        std::printf("%s line %d of %d\n", name_of(world).c_str(), i, count);
    }
}

/// Rank 0 prints so many mebibytes without an end of line.
void print_endless_line(const selion::world& world, int mebibytes) {
    if (world.rank() != 0) return;
    const std::string block(std::size_t{1} << 20, 'x');
    for (int i = 0; i < mebibytes; ++i) std::fwrite(block.data(), 1, block.size(), stdout);
}

/// Every kind of operation, for traces and meters.
void exchange(selion::world& world) {
    const auto number = selion::allocate<long>(world, 1);
    const auto signal = selion::allocate<selion::signal>(world, 1);
    const selion::rank_id next = (world.rank() + 1) % world.size();
    {
        const selion::timer_scope timer("exchange \"quoted\"");
        selion::put(number.on(next), 1L);
        selion::notify(signal.on(next), selion::signal_add(1));
        selion::wait_until(signal, 1);
    }
    selion::count("exchanges");
    static_cast<void>(world.all_reduce(selion::get(number), selion::plus));
    world.barrier();  // site: recorded barrier
}

/// Operations with futures on memory that is mapped.
void use_futures(selion::world& world) {
    const auto numbers = selion::allocate<long>(world, 2);
    const auto there = numbers.on((world.rank() + 1) % world.size());
    const std::array<long, 2> two{1, 2};
    world.barrier();
    const std::array are_ready{selion::put(there, 3L, selion::as_future).is_ready(),
                               selion::put(there, std::span(two), selion::as_future).is_ready(),
                               selion::get(there, selion::as_future).is_ready(),
                               selion::fetch_add(there, 1L, selion::as_future).is_ready()};
    const bool all = std::ranges::all_of(are_ready, std::identity());
    say(all ? "ready\n" : "not ready\n");
    world.barrier();
}

/// Rank 1 does. @param how "kill", "abort", or a status to return.
int end_unseen(selion::world& world, std::string_view how) {
    world.barrier();  // site: reaped
    if (world.rank() != 1) return 0;
    if (how == "kill") raise(SIGKILL);
    if (how == "abort") std::abort();
    return std::atoi(how.data());
}

int run_once(selion::world& world, int argc, char** argv) {
    const std::string_view what = argv[1];
    if (what == "arguments") tell_arguments(world, argc, argv);
    if (what == "lines") print_lines(world, argc > 2);
    if (what == "input") read_input(world);
    if (what == "fork") return fork_one(world, argv[2]);
    if (what == "much") print_much(world, std::atoi(argv[2]));
    if (what == "endless") print_endless_line(world, std::atoi(argv[2]));
    if (what == "programs") return start_programs(world, argv[0]);
    if (what == "exchange" || what == "elsewhere") exchange(world);
    if (what == "futures") use_futures(world);
    if (what == "handling") handle_signals(world, argv[2]);
    if (what == "children") end_children(world);
    if (what == "allocate") {
        static_cast<void>(selion::allocate<char>(world, std::strtoull(argv[2], nullptr, 10)));
    }
    if (what == "before") say("started with " + std::to_string(argc) + "\n");
    if (what == "reaping") return end_unseen(world, argv[2]);
    if (what == "keeping_none") return end_unseen(world, argv[2]);
    if (what == "status") return world.rank() == 1 ? std::atoi(argv[2]) : 0;
    return 0;
}

/// A program that takes the status of all its children before anybody else can.
void take_all_children(int) {
    const int before = errno;
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    errno = before;
}

/// A program whose children leave no status behind, without a handler or with one.
void keep_no_children() {
    struct sigaction wanted {};
    wanted.sa_handler = std::getenv("HANDLER") != nullptr ? ignore_signal : SIG_DFL;
    wanted.sa_flags = SA_NOCLDWAIT;
    sigaction(SIGCHLD, &wanted, nullptr);
}

/// Two jobs in one program; the second starts after the first has failed.
int run_twice(int argc, char** argv) {
    const int first = selion::run(argc, argv, [](selion::world& world) {
        say("first " + name_of(world) + "\n");
        return world.rank() == 1 ? 5 : 0;
    });
    const int second = selion::run(argc, argv, [first](selion::world& world) {
        say("second " + name_of(world) + " after " + std::to_string(first) + "\n");
        world.barrier();
    });
    std::printf("statuses %d %d\n", first, second);
    return second;
}

/// Goes its own way after a job, for as long as it is let.
int rest_after(int argc, char** argv) {
    selion::run(argc, argv, [](selion::world& world) {
        say("rank " + std::to_string(world.rank()) + " process " + std::to_string(getpid()) + "\n");
    });
    say("resting\n");
    while (true) pause();
}

/// Says who handles signals when the job has ended.
int handle_around(int argc, char** argv) {
    if (std::string_view(argv[2]) == "before") signal(SIGTERM, ignore_signal);
    const int status =
        selion::run(argc, argv, [&](selion::world& world) { return run_once(world, argc, argv); });
    tell_handlers("afterwards:");
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 64;
    if (std::string_view(argv[1]) == "twice") return run_twice(argc, argv);
    if (std::string_view(argv[1]) == "elsewhere" && chdir("below") != 0) return 65;
    if (std::string_view(argv[1]) == "resting") return rest_after(argc, argv);
    if (std::string_view(argv[1]) == "reaping") signal(SIGCHLD, take_all_children);
    if (std::string_view(argv[1]) == "keeping_none") keep_no_children();
    if (std::string_view(argv[1]) == "handling") return handle_around(argc, argv);
    if (std::string_view(argv[1]) == "before" && argc == 2) {
        const std::string inner =
            "SELION_MACHINE=processes:2 '" + std::string(argv[0]) + "' before x";
        if (std::system(inner.c_str()) != 0) return 1;
    }
    return selion::run(argc, argv,
                       [&](selion::world& world) { return run_once(world, argc, argv); });
}
