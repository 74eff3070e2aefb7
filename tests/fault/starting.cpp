// SPDX-License-Identifier: Apache-2.0
// starting WHAT ...: jobs that begin where they cannot, need not or must not, and programs that
// leave while one runs.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <selion/selion.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

void say(const std::string& text) {
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) std::abort();
}

void say_rank(const selion::world& world, std::string_view what) {
    say(std::string(what) + " rank " + std::to_string(world.rank()) + " of " +
        std::to_string(world.size()) + "\n");
}

/// A job on the machine that is named, of ranks that say their names.
int run_on(const std::string& machine, std::string_view what) {
    return selion::run(0, nullptr, {.machine = machine}, [&](selion::world& world) {
        say_rank(world, what);
        world.barrier();
    });
}

/// Jobs on one machine after another.
int run_on_each(int argc, char** argv) {
    std::string statuses;
    for (int i = 2; i < argc; ++i) {
        statuses += " " + std::to_string(run_on(argv[i], argv[i]));
    }
    std::printf("statuses%s\n", statuses.c_str());
    return 0;
}

/// The last rank has done with one job what the others do with two, and goes on with something
/// else.
int run_again_without_last() {
    bool is_last = false;
    selion::run(0, nullptr, {}, [&](selion::world& world) {
        is_last = world.rank() + 1 == world.size();
        say_rank(world, "first");
    });
    while (is_last) pause();
    return run_on("", "second");
}

/// The first job is done once: whoever starts this program for a rank has told that it is over.
int run_what_is_left() {
    if (std::getenv("FIRST_IS_OVER") == nullptr) {
        run_on("threads:2", "first");
        setenv("FIRST_IS_OVER", "yes", 1);
    }
    return run_on("processes:3", "second");
}

/// A copy of the process calls run; it goes no deeper than it can count.
int run_in_copy(int argc, char** argv) {
    const char* const before = std::getenv("COPIES");
    const int copies = before != nullptr ? std::atoi(before) : 0;
    say("copy " + std::to_string(copies) + "\n");
    if (copies == 3) return 1;
    setenv("COPIES", std::to_string(copies + 1).c_str(), 1);
    const pid_t copy = fork();
    if (copy == 0) return selion::run(argc, argv, [](selion::world& world) { world.barrier(); });
    int status = 0;
    waitpid(copy, &status, 0);
    return WEXITSTATUS(status);
}

/// Two threads begin a job each, which does not end.
int run_twice_at_once(int argc, char** argv) {
    std::latch start(2);
    const auto run = [&] {
        start.arrive_and_wait();
        selion::run(argc, argv, [](selion::world& world) {
            const auto never = selion::allocate<selion::signal>(world, 1);
            selion::wait_until(never, 1);
        });
    };
    std::thread other(run);
    run();
    other.join();
    return 0;
}

/// Opens files until only so many descriptors are left.
void open_all_files_but(int left) {
    std::vector<int> files;
    for (int file = 0; file >= 0; file = open("/dev/null", O_RDONLY | O_CLOEXEC)) {
        if (file > STDERR_FILENO) files.push_back(file);
    }
    for (; left > 0; --left) {
        close(files.back());
        files.pop_back();
    }
}

/// Another thread waits for input as long as the job runs.
int run_beside_reader(int argc, char** argv, bool is_rank) {
    if (!is_rank) {  // else it would read what is meant for the first process
        std::thread([] { std::getchar(); }).detach();
        while (ftrylockfile(stdin) == 0) funlockfile(stdin);
    }
    const int status =
        selion::run(argc, argv, [](selion::world& world) { say_rank(world, "beside"); });
    say("over\n");
    _exit(status);
}

/// The program's first thread leaves while another one runs a job, in the process that was started
/// by hand.
int leave_during_job(int argc, char** argv, bool is_rank) {
    std::thread([=] {
        selion::run(argc, argv, [](selion::world& world) {
            say_rank(world, "leaving");
            const auto never = selion::allocate<selion::signal>(world, 1);
            selion::wait_until(never, 1);
        });
    }).detach();
    if (is_rank) {
        while (true) pause();
    }
    char word = 0;
    while (read(STDIN_FILENO, &word, 1) < 0) {
    }
    return 0;
}

/// Whatever the program does as it leaves.
class late_caller {
public:
    ~late_caller() {
        if (wish == "late") selion::quiet();
        if (wish == "runs_late") run_late();
        while (wish == "ranks_stay" && is_rank) pause();
    }
    std::string_view wish;
    bool is_rank = false;

private:
    static void run_late() {
        const int status = selion::run(0, nullptr, {}, [](selion::world& world) {
            say_rank(world, "late");
            world.barrier();
            return world.rank() == 1 ? 3 : 0;
        });
        say("late status " + std::to_string(status) + "\n");
    }
};
late_caller late;

/// A thread of the program that is older than its jobs, and has no signal blocked.
void start_older_thread() {
    std::thread([] {
        while (true) pause();
    }).detach();
}

/// Jobs one after another beside such a thread.
int run_many_beside_thread(int count) {
    start_older_thread();
    int failed = 0;
    for (int i = 0; i < count; ++i) {
        failed += selion::run(0, nullptr, {}, [](selion::world&) {}) != 0;
    }
    std::printf("%d failed\n", failed);
    return failed;
}

/// More than the 2 MiB that the C library gives threads where `ulimit -s` is unlimited.
void use_stack() {
    std::array<char, std::size_t{6} << 20> frame;
    volatile char* const low = frame.data();
    for (std::size_t i = 0; i < frame.size(); i += 4096) low[i] = 'A';
}

/// How much of its memory the process has touched.
void tell_memory() {
    if (std::system("grep '^VmRSS:' /proc/$PPID/status") != 0) std::abort();
}

/// Which of the signals that the library reads are blocked in what a rank starts.
void tell_blocked(const selion::world& world) {
    say_rank(world, "begins in");
    const char* const look =
        "m=$(sed -n 's/^SigBlk:.*\\(........\\)$/\\1/p' /proc/self/status);"
        "echo blocked $((0x$m & (1 << 0 | 1 << 1 | 1 << 9 | 1 << 14 | 1 << 16)))";
    if (std::system(look) != 0) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 64;
    const std::string_view what = argv[1];
    const bool is_rank = std::getenv("SELION_JOB_PLACE") != nullptr;
    const std::string given = argc > 2 ? argv[2] : "";
    if (what == "each") return run_on_each(argc, argv);
    if (what == "again") return run_again_without_last();
    if (what == "left") return run_what_is_left();
    if (what == "copy") return run_in_copy(argc, argv);
    if (what == "at_once") return run_twice_at_once(argc, argv);
    if (what == "reader") return run_beside_reader(argc, argv, is_rank);
    if (what == "leave") return leave_during_job(argc, argv, is_rank);
    if (what == "many") return run_many_beside_thread(std::atoi(argv[2]));
    if (what == "beside") start_older_thread();
    late.wish = what;
    late.is_rank = is_rank;
    if (what == "locked" && mlockall(MCL_FUTURE) != 0) return 65;
    if (what == "closed") {
        closefrom(STDERR_FILENO + 1);
        // Of its own, under the numbers of what has been handed over.
        for (int i = 0; is_rank && i < 8; ++i) open("/proc/self/exe", O_RDONLY);
    }
    if (what == "full" && !is_rank) open_all_files_but(std::atoi(argv[2]));
    if (what == "retitled") std::memset(argv[2], '-', std::strlen(argv[2]));
    return selion::run(argc, argv, [&](selion::world& world) {
        if (what == "retitled") say_rank(world, given);
        if (what == "locked" || (what == "memory" && world.rank() == 0)) tell_memory();
        if (what == "stack") use_stack();
        if (what == "blocked") tell_blocked(world);
        if (what == "beside") say_rank(world, "waiting");
        if (what == "print") std::printf("rank %d prints\n", static_cast<int>(world.rank()));
        world.barrier();
        if ((what != "print" && what != "beside") || world.rank() != 0) return;
        const auto never = selion::allocate_local<selion::signal>(world, 1);
        selion::wait_until(never, 1);
    });
}
