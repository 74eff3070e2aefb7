// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

/// What two ranks on a network do, over any library: one that answers, in its calls, and one whose
/// time is taken. Prints a line for each operation: its name and nanoseconds, the median of blocks.
namespace bench::network {

inline constexpr std::size_t long_bytes = 1 << 20;

inline std::int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// Rank 0 repeats an operation, while rank 1 waits in a barrier.
template <class Contestant, class Operation>
void time_alone(Contestant& who, const char* name, int repetitions, Operation once) {
    constexpr int blocks = 11;
    std::vector<double> ns;
    for (int block = 0; block <= blocks; ++block) {
        who.barrier();
        if (who.rank() == 0) {
            const std::int64_t start = now_ns();
            for (int i = 0; i < repetitions; ++i) once();
            ns.push_back(static_cast<double>(now_ns() - start) / repetitions);
        }
        who.barrier();
    }
    if (who.rank() != 0) return;
    ns.erase(ns.begin());  // it warms up
    std::ranges::nth_element(ns, ns.begin() + blocks / 2);
    std::printf("%s\t%.0f\n", name, ns[blocks / 2]);
}

/// Both ranks repeat it.
template <class Contestant, class Operation>
void time_together(Contestant& who, const char* name, int repetitions, Operation once) {
    constexpr int blocks = 11;
    std::vector<double> ns;
    for (int block = 0; block <= blocks; ++block) {
        who.barrier();
        const std::int64_t start = now_ns();
        for (int i = 0; i < repetitions; ++i) once();
        ns.push_back(static_cast<double>(now_ns() - start) / repetitions);
    }
    if (who.rank() != 0) return;
    ns.erase(ns.begin());
    std::ranges::nth_element(ns, ns.begin() + blocks / 2);
    std::printf("%s\t%.0f\n", name, ns[blocks / 2]);
}

template <class Contestant>
void measure(Contestant& who) {
    time_together(who, "round trip of a message of 8 B", 200, [&] { who.ping_pong(); });
    time_together(who, "barrier", 200, [&] { who.barrier(); });
    time_alone(who, "put 8 B, complete", 200, [&] { who.put(8); });
    time_alone(who, "get 8 B", 200, [&] { who.get(8); });
    time_alone(who, "fetch_add", 200, [&] { who.fetch_add(); });
    time_alone(who, "put 1 MiB, complete", 10, [&] { who.put(long_bytes); });
    time_alone(who, "get 1 MiB", 10, [&] { who.get(long_bytes); });
}

}  // namespace bench::network
