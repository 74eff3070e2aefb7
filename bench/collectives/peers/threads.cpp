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
    bare::flag_line meetings{};  ///< of bare contestants, between blocks
    bare::flag_line counter{};
    std::array<bare::flag_line, 2> flags{};
    const char* block = nullptr;  ///< of the thread that writes
};

/// What one thread goes through all contests with.
struct thread_state {
    team_memory& shared;
    const bench::settings& how;
    std::uint32_t rank;
    std::uint64_t arrivals_expected = 0;

    std::uint32_t threads() const { return static_cast<std::uint32_t>(shared.ns.size()); }
};

/// Waits for all at a counter that is never reset. @param look is done between two looks at it.
template <class Look>
void meet(std::uint64_t& counter, std::uint64_t goal, Look look) {
    std::atomic_ref arrivals(counter);
    if (arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 == goal) return;
    while (arrivals.load(std::memory_order_acquire) < goal) look();
}

/// How a contestant's threads meet between the blocks.
enum class meeting { standard, bare };

class contestant {
public:
    contestant(thread_state& self, const char* name, meeting how = meeting::bare)
        : self_(self), name_(name), how_(how) {}

    const char* name() const { return name_; }
    std::uint32_t rank() const { return self_.rank; }
    std::uint32_t size() const { return self_.threads(); }
    std::size_t least_bytes() const { return 0; }
    std::size_t most_bytes() const { return 0; }

    double* memory(std::size_t count) { return memory_.take(count); }
    std::int64_t maximum(std::int64_t ns) {
        std::vector<std::int64_t>& all_ns = self_.shared.ns;
        all_ns[rank()] = ns;
        barrier();
        const std::int64_t longest = *std::max_element(all_ns.begin(), all_ns.end());
        barrier();
        return longest;
    }
    void barrier() {
        if (how_ == meeting::standard) {
            self_.shared.standard.arrive_and_wait();
            return;
        }
        meet(self_.shared.meetings.flag, self_.arrivals_expected += size(), [this] {
            if (size() > 2) sched_yield();
        });
    }

    team_memory& shared() const { return self_.shared; }
    bare::flag_line& own() const { return shared().flags[rank()]; }
    bare::flag_line& other() const { return shared().flags[1 - rank()]; }

    /// Sets the shared words back: each operation counts from 0.
    void clear() {
        barrier();
        if (rank() == 0) {
            shared().counter = {};
            shared().flags = {};
        }
        barrier();
    }

private:
    thread_state& self_;
    const char* name_;
    meeting how_;
    bench::collectives::private_memory memory_;
};

/// All raise one counter.
template <class Look>
void counter_barrier(thread_state& self, const char* name, Look look) {
    contestant who(self, name);
    who.clear();
    bench::collectives::measurement all(who, self.how);
    all.repeat("barrier", [&](std::uint64_t turn) {
        meet(self.shared.counter.flag, (turn + 1) * who.size(), look);
    });
}

/// Each of two raises a flag in the other's line and waits for its own.
template <bare::between_looks Between>
void flag_barrier(thread_state& self, const char* name) {
    contestant who(self, name);
    who.clear();
    bench::collectives::measurement all(who, self.how);
    all.repeat("barrier", [&](std::uint64_t turn) {
        bare::raise(who.other().flag, turn + 1);
        bare::await<Between>(who.own().flag, turn + 1);
    });
}

/// The two raise the other's flag by turns: one signal each time.
template <bare::between_looks Between>
void signal(thread_state& self, const char* name) {
    contestant who(self, name);
    who.clear();
    bench::collectives::measurement all(who, self.how);
    all.repeat("signal", [&](std::uint64_t turn) {
        if (turn % 2 == self.rank) {
            bare::raise(who.other().flag, turn / 2 + 1);
        } else {
            bare::await<Between>(who.own().flag, turn / 2 + 1);
        }
    });
}

/// Copies a block that the other thread has just written; only the copies are timed.
void copy(thread_state& self, std::size_t bytes) {
    contestant who(self, "copy of dirty data");
    bench::collectives::measurement all(who, self.how);
    const std::string operation = "copy " + bench::collectives::size_text(bytes);
    if (!all.wants(operation)) return;
    who.clear();
    char* const own = reinterpret_cast<char*>(who.memory(bytes / sizeof(double)));
    std::memset(own, 1, bytes);
    if (self.rank == 1) self.shared.block = own;
    who.clear();
    all.run(operation, [&, turn = std::uint64_t{0}](std::uint64_t count) mutable {
        std::int64_t total_ns = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            ++turn;
            if (self.rank == 1) {
                bare::await(who.own().flag, turn);
                std::memset(own, static_cast<int>(turn), bytes);
                bare::raise(who.other().flag, turn);
                continue;
            }
            bare::raise(who.other().flag, turn);
            bare::await(who.own().flag, turn);
            const std::int64_t start = bench::now_ns();
            std::memcpy(own, self.shared.block, bytes);
            bench::clobber();
            total_ns += bench::now_ns() - start;
        }
        return total_ns;
    });
}

void run_thread(thread_state self) {
    contestant standard(self, "std::barrier", meeting::standard);
    bench::collectives::measurement all(standard, self.how);
    bench::collectives::measure_operations(all);
    if (self.threads() != 2) {
        counter_barrier(self, "counter, yielding", [] { sched_yield(); });
        all.finish();
        return;
    }
    using enum bare::between_looks;
    counter_barrier(self, "bare counter", [] {});
    counter_barrier(self, "bare counter, pause", bare::pause_processor);
    flag_barrier<nothing>(self, "bare flag each");
    flag_barrier<pause>(self, "bare flag each, pause");
    signal<nothing>(self, "bare signal");
    signal<pause>(self, "bare signal, pause");
    for (const std::size_t bytes : {4u << 10, 64u << 10, 1u << 20}) copy(self, bytes);
    all.finish();
}

std::uint32_t processors() {
    cpu_set_t usable;
    return sched_getaffinity(0, sizeof usable, &usable) == 0
               ? static_cast<std::uint32_t>(CPU_COUNT(&usable))
               : 1;
}

/// To a processor of its own.
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
            if (threads <= processors()) bind(rank);
            run_thread({shared, how, rank});
        });
    }
}
