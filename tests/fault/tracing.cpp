// SPDX-License-Identifier: Apache-2.0
// tracing COUNT END: every rank puts COUNT times, exchanges a few messages of each kind and meets
// the others. Then END says how it goes on:
//   return   all ranks return; each prints the times that it saw
//   stay     rank 0 works without calling Selion until it is killed, the others wait for it
//   deadlock all ranks wait for nobody
//   throw, exit, segv, abort    the last rank does so, the others wait for it
//   term     the last rank gets SIGTERM; then all ranks return

#include <unistd.h>
#include <selion/selion.hpp>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

void say(const std::string& text) {
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) std::abort();
}

std::string times;  // on a simulated machine one rank runs at a time

void note_time(const selion::world& world, const char* what) {
    if (world.machine().capabilities.real_time) return;
    times += "rank " + std::to_string(world.rank()) + " " + what + " " +
             std::to_string(world.now_ps()) + "\n";
}

/// Every kind of operation, where each rank waits for its neighbour.
void exchange(selion::world& world) {
    const auto numbers = selion::allocate<std::uint64_t>(world, 64);
    const auto signal = selion::allocate<selion::signal>(world, 1);
    const selion::rank_id next = (world.rank() + 1) % world.size();
    for (std::uint64_t round = 1; round <= 3; ++round) {
        const selion::timer_scope timer("round");
        selion::count("rounds");
        selion::charge(selion::flops(100 * (world.rank() + 1)));
        selion::put_signal(numbers.on(next), round, signal.on(next), selion::signal_set(round));
        selion::wait_until(signal, round);
        note_time(world, "was woken");
        static_cast<void>(selion::get(numbers.on(next)));
        static_cast<void>(selion::fetch_add((numbers + 1).on(next), 1));
        selion::quiet();
        note_time(world, "is quiet");
    }
    static_cast<void>(world.all_reduce(std::uint64_t{1}, selion::plus));
    static_cast<void>(world.broadcast(world.rank(), 0));
    note_time(world, "has the sum");
    selion::deallocate(world, signal);
    // The same memory again, and the same values: another signal.
    const auto again = selion::allocate<selion::signal>(world, 1);
    selion::notify(again.on(next), selion::signal_set(1));
    selion::wait_until(again, 1);
    note_time(world, "was woken again");
    world.barrier();
}

int* volatile no_memory = nullptr;

void die(std::string_view how) {
    if (how == "throw") throw std::runtime_error("the cause is told");
    if (how == "exit") std::exit(7);
    if (how == "segv") *no_memory = 1;
    if (how == "abort") std::abort();
}

void run_rank(selion::world& world, int count, std::string_view end) {
    const auto cell = selion::allocate<int>(world, 1);
    const auto never = selion::allocate<selion::signal>(world, 1);
    for (int i = 0; i < count; ++i) selion::put(cell.on((world.rank() + 1) % world.size()), i);
    exchange(world);
    if (end == "return") return;
    say("rank " + std::to_string(world.rank()) + " process " + std::to_string(getpid()) + "\n");
    world.barrier();  // a rank that stays may keep others from their work
    if (end == "term") {
        if (world.rank() == world.size() - 1) kill(getpid(), SIGTERM);
        return;
    }
    // Paced only so that the machine has time for the rest of the test.
    while (end == "stay" && world.rank() == 0) usleep(1000);
    if (world.rank() == world.size() - 1) die(end);
    selion::wait_until(never, 1);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 64;
    const int status = selion::run(
        argc, argv, [&](selion::world& world) { run_rank(world, std::atoi(argv[1]), argv[2]); });
    say(times);
    return status;
}
