// SPDX-License-Identifier: Apache-2.0
// dying HOW RANK [FIRST]: all ranks meet, then RANK dies as HOW says, while the others wait in a
// barrier. Rank 0 does so too, or works without calling Selion ("busy"), and perhaps ignores
// SIGTERM
// ("deaf"), or reads standard input ("reading"). "together": all of them die. "starts": RANK starts
// a collective before.

#include <signal.h>
#include <unistd.h>
#include <selion/selion.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace {

volatile bool goes_on = true;

int overflow(int depth) {
    volatile char frame[512] = {};
    frame[0] = static_cast<char>(depth);
    if (goes_on) return overflow(depth + 1) + frame[0];
    return frame[0];
}

/// Reaches beyond a stack of 2 MiB with its first access.
void use_large_frame() {
    std::array<char, 5 << 19> frame;
    volatile char* const low = frame.data();
    for (int i = 0; i < 4096; ++i) low[i] = 'A';
}

int* volatile no_memory = nullptr;
int* volatile no_address = reinterpret_cast<int*>(0xdead'0000'0000'0000);

/// What the allocator finds when the block is given back.
void overrun_heap() {
    constexpr std::size_t bytes = 2000;
    auto* const block = static_cast<volatile char*>(std::malloc(bytes));
    for (std::size_t i = 0; i < bytes + 24; ++i) block[i] = 'A';
    std::free(const_cast<char*>(block));
}

/// Whoever next wants memory of a small size from the thread's heap goes to an address that no
/// program can have, or is stopped by the allocator, which sees it.
void spoil_heap(bool is_seen) {
    constexpr std::uintptr_t nowhere = 0xdead'0000'0000'0000;
    for (std::size_t bytes = 24; bytes <= 1032; bytes += 16) {
        void* const volatile first = std::malloc(bytes);
        void* const volatile second = std::malloc(bytes);
        std::free(first);
        std::free(second);
        // The allocator keeps the place of the next free block here, changed by its own.
        auto* const place = static_cast<volatile std::uintptr_t*>(second);
        *place = (reinterpret_cast<std::uintptr_t>(place) >> 12) ^ (nowhere + is_seen);
        void* const volatile block = std::malloc(bytes);
        static_cast<void>(block);
    }
}

void die(std::string_view how) {
    if (how == "trap") raise(SIGTRAP);
    if (how == "sys") raise(SIGSYS);
    if (how == "segv_spoiled" || how == "segv_seen") {
        spoil_heap(how == "segv_seen");
        *no_memory = 1;
    }
    if (how == "segv") *no_memory = 1;
    if (how == "garbage") *no_address = 1;
    if (how == "abort") std::abort();
    if (how == "throw") throw std::runtime_error("the cause is told");
    if (how == "throw_int") throw 42;
    if (how == "exit0") std::exit(0);
    if (how == "exit7") std::exit(7);
    if (how == "_exit3") _exit(3);
    if (how == "overflow") overflow(0);
    if (how == "large_frame") use_large_frame();
    if (how == "corrupt") overrun_heap();
}

/// Where the rank's own thread is not the one that dies.
void die_beside(selion::world& world, std::string_view how) {
    if (how == "overflow_in_handler") {  // on the notification thread: this one does not call
        selion::rpc_oneway(world.rank(), [] { overflow(0); });
        while (true) usleep(1000);
    }
    if (how == "overflow_joined") {
        std::thread([&] {
            const selion::rank_scope scope(world);
            overflow(0);
        }).join();
    }
}

/// Returns only for "barrier" and "starts".
void keep_away(std::string_view how) {
    if (how == "barrier" || how == "starts") return;
    if (how == "deaf") signal(SIGTERM, SIG_IGN);
    if (how == "reading") {
        while (std::getchar() != EOF) {
        }
    }
    // Paced only so that the machine has time for the rest of the test.
    while (true) usleep(1000);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view how = argc > 1 ? argv[1] : "";
    const unsigned victim = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 0;
    const std::string_view first = argc > 3 ? argv[3] : "barrier";
    if (first == "together") {
        return selion::run(argc, argv, [&](selion::world& world) {
            world.barrier();
            die(how);
        });
    }
    return selion::run(argc, argv, [&](selion::world& world) {
        const auto never = selion::allocate<selion::signal>(world, 1);
        const auto away = selion::allocate<selion::signal>(world, 1);
        const std::string line =
            "rank " + std::to_string(world.rank()) + " process " + std::to_string(getpid()) + "\n";
        if (write(STDOUT_FILENO, line.data(), line.size()) < 0) return;
        world.barrier();  // site: last call
        if (world.rank() == victim) {
            if (write(STDOUT_FILENO, "dying\n", 6) < 0) return;
            if (first == "starts") {
                static_cast<void>(world.split_phase().broadcast(1, victim));  // site: start
            } else if (first != "barrier") {
                selion::wait_until(away, 1);
            }
            die(how);
            die_beside(world, how);
            selion::wait_until(never, 1);  // site: waits to be killed
        }
        if (world.rank() == 0) {
            selion::notify(away.on(victim), selion::signal_set(1));
            keep_away(first);
        }
        world.barrier();  // site: others wait
    });
}
