// SPDX-License-Identifier: Apache-2.0
// waiting HOW [MILLISECONDS]: jobs that wait for a long time, or for ever.

#include <poll.h>
#include <unistd.h>
#include <selion/selion.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using signal_ptr = selion::global_ptr<selion::signal>;

/// Rank 1 leaves a barrier out and waits for what would come after it.
void skip_a_barrier(selion::world& world, signal_ptr mine) {
    if (world.rank() != 1) {
        world.barrier();  // site: barrier
        selion::notify(mine.on(1), selion::signal_add(1));
    } else {
        selion::wait_until(mine, 1);  // site: instead
    }
}

/// Rank 1 waits for a count that never comes, rank 0 for the answer of rank 1's handler, which
/// never gives it.
void wait_for_operations(selion::world& world) {
    if (world.rank() == 1) {
        selion::counter never;
        never.wait(3);  // site: counter
    }
    if (world.rank() == 0) {
        auto unanswered = selion::rpc(1, [] {
            // A future that nobody fulfils.
            return selion::future<int>(
                selion::detail::make_state(sizeof(int), std::source_location::current()));
        });
        unanswered.get();  // site: future
    }
    world.barrier();  // site: rest
}

/// Rank 1 leaves a barrier out and returns.
void return_early(selion::world& world) {
    if (world.rank() == 1) return;
    world.barrier();  // site: before the end
}

/// Rank 1 leaves out to add a meter up.
void add_up_without_one(selion::world& world, signal_ptr mine) {
    const selion::meter meter("piece");
    if (world.rank() == 1) selion::wait_until(mine, 1);  // site: no summary
    static_cast<void>(selion::summarise(world, meter));  // site: summary
}

/// Rank 1 works for ever.
void work_for_ever(selion::world& world) {
    if (world.rank() == 1) {
        while (world.now() > 0) {
        }
    }
    world.sync();  // site: sync
}

selion::arrival take_number(const int&, selion::message_info) { return {}; }

/// Sends more to rank 1 than there is room for.
selion::arrival fill_rank_1(const int& messages, selion::message_info) {
    for (int i = 0; i < messages; ++i) selion::send(1, take_number, i);
    return {};
}

/// Rank 0 makes calls that rank 1 would have to serve, which works for ever.
void call_in_vain(selion::world& world, std::string_view what) {
    constexpr int more_than_there_is_room_for = 1'000'000;
    const auto word = selion::allocate<std::uint64_t>(world, 1).on(1);
    const std::array<std::byte, 4096> block{};
    if (world.rank() == 1) return work_for_ever(world);
    if (what == "parked") {
        selion::send(0, fill_rank_1, 5000);
        while (selion::progress()) {
        }
        selion::send(1, take_number, 0);  // site: parked
    }
    for (int i = 0; i < more_than_there_is_room_for; ++i) {
        if (what == "send") selion::send(1, take_number, i);                        // site: send
        if (what == "block") selion::send(1, take_number, i, block);                // site: block
        if (what == "put") selion::put(word, std::uint64_t{1});                     // site: put
        if (what == "get") static_cast<void>(selion::get(word));                    // site: get
        if (what == "atomic") static_cast<void>(selion::fetch_add(word, 1));        // site: atomic
        if (what == "quiet") selion::put(word, std::uint64_t{1}), selion::quiet();  // site: quiet
    }
}

/// Where completion handlers of rank 0 wait until rank 1 has sent all its messages.
selion::global_ptr<selion::signal> all_sent;

selion::arrival answer_later(const int&, selion::message_info) {
    return {.completion = [](void*) { selion::wait_until(all_sent, 1); }, .may_wait = true};
}

/// Rank 1 works for ever, and takes no answers: completion handlers of rank 0 send more of them
/// than there is room for.
void answer_in_vain(selion::world& world) {
    constexpr int more_than_there_is_room_for = 1200;
    static selion::counter done;
    all_sent = selion::allocate<selion::signal>(world, 1).on(0);
    if (world.rank() == 0) selion::send(0, take_number, 0);  // site: last_message
    world.barrier();
    if (world.rank() == 1) {
        for (int i = 0; i < more_than_there_is_room_for; ++i) {
            selion::send(0, answer_later, i, {}, {.completion = &done});
        }
        selion::notify(all_sent, selion::signal_set(1));
    }
    work_for_ever(world);
}

bool has_line() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) != 0;
}

/// The others want a signal of 3, get 1, and 3 when rank 0 can read a line. Rank 0 does not block:
/// it may share its thread with others.
void wait_for_line(selion::world& world, signal_ptr mine) {
    if (world.rank() != 0) {
        selion::wait_until(mine, 3);  // site: signal
        return;
    }
    for (std::uint32_t rank = 1; rank < world.size(); ++rank) {
        selion::notify(mine.on(rank), selion::signal_set(1));
    }
    std::puts("ready");
    std::fflush(stdout);
    while (!has_line()) {
        if (selion::wait_until(mine, 1, std::chrono::milliseconds(10))) return;  // site: pause
    }
    for (std::uint32_t rank = 1; rank < world.size(); ++rank) {
        selion::notify(mine.on(rank), selion::signal_set(3));
    }
}

/// All but the last wait for a signal that comes late; the last waits for the time to pass.
void wait_long(selion::world& world, signal_ptr mine, std::chrono::milliseconds duration) {
    world.barrier();
    if (world.rank() + 1 != world.size()) {
        selion::wait_until(mine, 1);
        return;
    }
    if (selion::wait_until(mine, 1, duration)) std::puts("a signal that nobody sent");
    for (std::uint32_t rank = 0; rank + 1 < world.size(); ++rank) {
        selion::notify(mine.on(rank), selion::signal_set(1));
    }
}

/// A token goes round while all but its holder sleep, who calls the next one before it passes it
/// on. Rank 0 says how long the rounds took.
void pass_round(selion::world& world, signal_ptr mine, int rounds) {
    constexpr unsigned beyond_patience_us = 4000;
    const std::uint32_t next = (world.rank() + 1) % world.size();
    std::uint64_t turn = world.rank() == 0 ? 0 : 1;
    world.barrier();
    std::int64_t since_ns = world.now();
    for (int round = 0; round < rounds; ++round) {
        selion::wait_until(mine, turn++);
        if (world.rank() == 0 && round != 0) {
            const std::int64_t now_ns = world.now();
            std::printf("round %.1f ms\n", static_cast<double>(now_ns - since_ns) / 1e6);
            since_ns = now_ns;
        }
        usleep(beyond_patience_us);
        selion::rpc(next, [] {}).get();
        selion::notify(mine.on(next), selion::signal_add(1));
    }
}

/// Meets again and again, until rank 0 says that it is enough.
void meet_often(selion::world& world, std::chrono::milliseconds duration) {
    const std::int64_t end_ns = world.now() + std::chrono::nanoseconds(duration).count();
    while (world.broadcast(world.now() < end_ns, 0)) {
    }
}

/// Rank 1 computes until the file is there, which rank 0 makes when its own time is over.
/// @param what rank 0 calls that needs rank 1.
void time_out(selion::world& world, std::string_view what, const char* file) {
    const auto place = selion::allocate<int>(world, 1);
    const selion::team limited = world.split(0).with_timeout(std::chrono::milliseconds(200));
    world.barrier();
    if (world.rank() == 1) {
        while (access(file, F_OK) != 0) usleep(10'000);
        return;
    }
    try {
        selion::put(place.on(1), 1);
        const selion::team strict = limited.with(selion::strict);
        if (what == "barrier") limited.barrier();
        if (what == "strict") static_cast<void>(strict.all_reduce(1, selion::plus));
        for (int i = 0; what == "gather" && i < 100; ++i) static_cast<void>(limited.gather(1, 1));
        std::vector<char> much(1 << 19);
        for (int i = 0; what == "broadcast" && i < 100; ++i) limited.broadcast(std::span(much), 0);
        std::puts("it did not need rank 1");
    } catch (const selion::error& late) {
        std::puts(late.code() == selion::status::timed_out ? "timed out" : late.what());
    }
    std::fclose(std::fopen(file, "w"));
}

/// Rank 1 comes late, and the others tell each other of its absence.
void meet_within_limit(selion::world& world, signal_ptr mine) {
    if (world.rank() == 1) return selion::wait_until(mine, world.size() - 1);  // site: late
    try {
        world.with_timeout(std::chrono::milliseconds(250)).barrier();  // site: limited
    } catch (const selion::error& late) {
        std::puts(late.what());
    }
    selion::notify(mine.on(1), selion::signal_add(1));
}

/// Rank 1 keeps the processor from the others, which simulated ranks share.
/// @param duration after which it goes on; 0: for ever.
void keep_processor(selion::world& world, signal_ptr mine, std::string_view how,
                    std::chrono::milliseconds duration) {
    static std::mutex held;
    const auto word = selion::allocate<int>(world, 1);  // site: word
    if (how == "locks" && world.rank() == 0) held.lock();
    if (world.rank() == 1) {
        selion::charge({.picoseconds = 1'000'000'000});
        selion::progress();  // the others come first
        const auto end = std::chrono::steady_clock::now() + duration;
        std::puts("ready");
        std::fflush(stdout);
        if (how == "locks") held.lock();
        while (duration.count() == 0 || std::chrono::steady_clock::now() < end) {
            if (how == "tests") static_cast<void>(selion::test(mine, 1));   // site: tests
            if (how == "gets") static_cast<void>(selion::get(word.on(0)));  // site: gets
        }
    }
    world.barrier();  // site: kept out
}

/// Looks for what never comes, as a program does that computes in between.
void look_often(selion::world& world, signal_ptr mine, std::string_view how,
                std::chrono::milliseconds duration) {
    const std::int64_t end_ns = world.now() + std::chrono::nanoseconds(duration).count();
    while (world.now() < end_ns) {
        if (how == "serves") selion::progress();
        if (how == "tests" && selion::test(mine, 1)) std::puts("a signal that nobody sent");
    }
    world.barrier();
}

/// Handlers of ranks 0 and 1 call each other for ever.
void pass_ball(int times) {
    selion::rpc_oneway(1 - selion::this_rank(), [](int before) { pass_ball(before); }, times + 1);
}

/// All look for a signal that nobody sends.
void poll_for_ever(signal_ptr mine) {
    std::puts("ready");
    std::fflush(stdout);
    while (!selion::test(mine, 2)) {  // site: poll
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view how = argc > 1 ? argv[1] : "";
    const std::chrono::milliseconds duration(argc > 2 ? std::atoi(argv[2]) : 0);
    if (how == "line" && argc > 2) {  // a thread that is older than the job
        std::thread([] {
            while (true) pause();
        }).detach();
    }
    return selion::run(argc, argv, [&](selion::world& world) -> int {  // site: run
        const auto mine = selion::allocate<selion::signal>(world, 1);  // site: allocate
        if (how == "skip") skip_a_barrier(world, mine);
        if (how == "operations") wait_for_operations(world);
        if (how == "summary") add_up_without_one(world, mine);
        if (how == "return") return_early(world);
        if (how == "work") work_for_ever(world);
        if (how == "line") wait_for_line(world, mine);
        if (how == "serves" || how == "tests") look_often(world, mine, how, duration);
        if (how == "polls") poll_for_ever(mine);
        if (how == "ball" && world.rank() == 0) pass_ball(0);
        if (how == "ball" && argc > 2) selion::wait_until(mine, 1);  // site: ball
        if (how == "long") wait_long(world, mine, duration);
        if (how == "rounds") pass_round(world, mine, std::atoi(argv[2]));
        if (how == "often") meet_often(world, duration);
        if (how == "timeout") time_out(world, argv[2], argv[3]);
        if (how == "vain") call_in_vain(world, argv[2]);
        if (how == "answer") answer_in_vain(world);
        if (how == "keeps") {
            keep_processor(world, mine, argv[2], std::chrono::milliseconds(std::atoi(argv[3])));
        }
        if (how == "work_alone" && world.rank() == 1) {
            const auto end = std::chrono::steady_clock::now() + duration;
            while (std::chrono::steady_clock::now() < end) {
            }
        }
        if (how == "limit") meet_within_limit(world, mine);
        if (how == "status" && world.rank() == 1) return 7;
        if (how == "status") world.barrier();  // site: others have failed
        return 0;
    });
}
