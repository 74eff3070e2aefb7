// SPDX-License-Identifier: Apache-2.0
// Threads without any library: std::barrier, and what a programmer would write by hand.
#include <sched.h>

#include <array>
#include <atomic>
#include <barrier>
#include <charconv>
#include <cstring>
#include <string_view>
#include <thread>

#include "harness/flags.hpp"
#include "memory.hpp"
#include "operations.hpp"

namespace {

namespace bare = bench::bare;

/// What the threads share.
struct team_memory {
    explicit team_memory(std::uint32_t threads) : standard(threads), ns(threads) {}

    std::barrier<> standard;
    std::vector<std::int64_t> ns;
    bare::flag_line counter{};
    std::array<bare::flag_line, 2> flags{};
    const char* block = nullptr;  ///< of the thread that writes
};

/// One thread, with the barrier that the standard library has.
class contestant {
public:
    contestant(team_memory& shared, std::uint32_t rank, const char* name)
        : shared_(shared), rank_(rank), name_(name) {}

    const char* name() const { return name_; }
    std::uint32_t rank() const { return rank_; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(shared_.ns.size()); }
    std::size_t least_bytes() const { return 0; }
    std::size_t most_bytes() const { return 0; }

    double* memory(std::size_t count) { return memory_.take(count); }
    std::int64_t maximum(std::int64_t ns) {
        shared_.ns[rank_] = ns;
        barrier();
        const std::int64_t longest = *std::max_element(shared_.ns.begin(), shared_.ns.end());
        barrier();
        return longest;
    }
    void barrier() { shared_.standard.arrive_and_wait(); }

    team_memory& shared() const { return shared_; }
    bare::flag_line& own() const { return shared_.flags[rank_]; }
    bare::flag_line& other() const { return shared_.flags[1 - rank_]; }

private:
    team_memory& shared_;
    std::uint32_t rank_;
    const char* name_;
    bench::collectives::private_memory memory_;
};

/// Sets the shared words back: each of these operations counts from 0.
void clear(const contestant& who) {
    who.shared().standard.arrive_and_wait();
    if (who.rank() == 0) {
        who.shared().counter = {};
        who.shared().flags = {};
    }
    who.shared().standard.arrive_and_wait();
}

/// All raise one counter that is never reset. @param look is done between two looks at it.
template <class Look>
void counter_barrier(team_memory& shared, const bench::settings& how, std::uint32_t rank,
                     const char* name, Look look) {
    contestant who(shared, rank, name);
    clear(who);
    std::atomic_ref arrivals(shared.counter.flag);
    bench::collectives::measurement all(who, how);
    all.repeat("barrier", [&, goal = std::uint64_t{0}](std::uint64_t) mutable {
        goal += who.size();
        if (arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 == goal) return;
        while (arrivals.load(std::memory_order_acquire) < goal) look();
    });
}

/// Each of two raises a flag in the other's line and waits for its own.
template <bare::between_looks Between>
void flag_barrier(team_memory& shared, const bench::settings& how, std::uint32_t rank,
                  const char* name) {
    contestant who(shared, rank, name);
    clear(who);
    bench::collectives::measurement all(who, how);
    all.repeat("barrier", [&](std::uint64_t turn) {
        bare::raise(who.other().flag, turn + 1);
        bare::await<Between>(who.own().flag, turn + 1);
    });
}

/// The two raise the other's flag by turns: one signal each time.
template <bare::between_looks Between>
void signal(team_memory& shared, const bench::settings& how, std::uint32_t rank, const char* name) {
    contestant who(shared, rank, name);
    clear(who);
    bench::collectives::measurement all(who, how);
    all.repeat("signal", [&](std::uint64_t turn) {
        if (turn % 2 == rank) {
            bare::raise(who.other().flag, turn / 2 + 1);
        } else {
            bare::await<Between>(who.own().flag, turn / 2 + 1);
        }
    });
}

/// Copies a block that the other thread has just written; only the copies are timed.
void copy(team_memory& shared, const bench::settings& how, std::uint32_t rank, std::size_t bytes) {
    contestant who(shared, rank, "copy of dirty data");
    bench::collectives::measurement all(who, how);
    const std::string operation = "copy " + bench::collectives::size_text(bytes);
    if (!all.wants(operation)) return;
    clear(who);
    char* const own = reinterpret_cast<char*>(who.memory(bytes / sizeof(double)));
    std::memset(own, 1, bytes);
    if (rank == 1) shared.block = own;
    clear(who);
    all.run(operation, [&, turn = std::uint64_t{0}](std::uint64_t count) mutable {
        std::int64_t total_ns = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            ++turn;
            if (rank == 1) {
                bare::await(who.own().flag, turn);
                std::memset(own, static_cast<int>(turn), bytes);
                bare::raise(who.other().flag, turn);
                continue;
            }
            bare::raise(who.other().flag, turn);
            bare::await(who.own().flag, turn);
            const std::int64_t start = bench::now_ns();
            std::memcpy(own, shared.block, bytes);
            bench::clobber();
            total_ns += bench::now_ns() - start;
        }
        return total_ns;
    });
}

void run_thread(team_memory& shared, const bench::settings& how, std::uint32_t rank) {
    contestant standard(shared, rank, "std::barrier");
    bench::collectives::measurement all(standard, how);
    bench::collectives::measure_operations(all);
    if (standard.size() != 2) {
        counter_barrier(shared, how, rank, "counter, yielding", [] { sched_yield(); });
        all.finish();
        return;
    }
    using enum bare::between_looks;
    counter_barrier(shared, how, rank, "bare counter", [] {});
    counter_barrier(shared, how, rank, "bare counter, pause", bare::pause_processor);
    flag_barrier<nothing>(shared, how, rank, "bare flag each");
    flag_barrier<pause>(shared, how, rank, "bare flag each, pause");
    signal<nothing>(shared, how, rank, "bare signal");
    signal<pause>(shared, how, rank, "bare signal, pause");
    for (const std::size_t bytes : {4u << 10, 64u << 10, 1u << 20}) copy(shared, how, rank, bytes);
    all.finish();
}

/// Two threads have a processor each to themselves; more are free to move.
void bind(std::uint32_t rank) {
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
    std::uint32_t before = 0;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (!CPU_ISSET(i, &usable) || before++ != rank) continue;
        CPU_ZERO(&usable);
        CPU_SET(i, &usable);
        sched_setaffinity(0, sizeof usable, &usable);
        return;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view text = argc > 1 ? argv[1] : "";
    std::uint32_t threads = 0;
    std::from_chars(text.data(), text.data() + text.size(), threads);
    if (threads < 2) {
        std::fprintf(stderr, "The first argument is '%s'; legal: a number of threads from 2 on\n",
                     argc > 1 ? argv[1] : "");
        return 2;
    }
    const bench::settings how = bench::parse_settings(argc - 1, argv + 1, {});
    team_memory shared(threads);
    std::vector<std::jthread> all;
    for (std::uint32_t rank = 0; rank < threads; ++rank) {
        all.emplace_back([&, rank] {
            if (threads == 2) bind(rank);
            run_thread(shared, how, rank);
        });
    }
}
