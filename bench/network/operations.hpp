// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

/// What ranks on a network do, over any library. Two: one that answers, in its calls, and one whose
/// time is taken. More: collectives. Prints a line for each operation: its name and nanoseconds,
/// the median of blocks.
namespace bench::network {

inline constexpr std::size_t medium_bytes = 1 << 16;
inline constexpr std::size_t long_bytes = 1 << 20;
inline constexpr int long_row = 16;     ///< transfers of `long_bytes` that are awaited together
inline constexpr int short_row = 1024;  ///< operations of 8 bytes that are awaited together

inline std::int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// The median without the first block, which warms up.
inline void print_median(const char* name, std::vector<double> ns) {
    ns.erase(ns.begin());
    const auto middle = ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 2);
    std::ranges::nth_element(ns, middle);
    std::printf("%s\t%.0f\n", name, *middle);
    std::fflush(stdout);  // what follows may not come to its end
}

inline constexpr int blocks = 11;

/// Rank 0 repeats what does `each` operations, while rank 1 waits in a barrier.
template <class Contestant, class Operation>
void time_alone(Contestant& who, const char* name, int repetitions, Operation once, int each = 1) {
    std::vector<double> ns;
    for (int block = 0; block <= blocks; ++block) {
        who.barrier();
        if (who.rank() == 0) {
            const std::int64_t start = now_ns();
            for (int i = 0; i < repetitions; ++i) once();
            ns.push_back(static_cast<double>(now_ns() - start) / repetitions / each);
        }
        who.barrier();
    }
    if (who.rank() == 0) print_median(name, ns);
}

/// All ranks repeat it.
template <class Contestant, class Operation>
void time_together(Contestant& who, const char* name, int repetitions, Operation once,
                   int each = 1) {
    std::vector<double> ns;
    for (int block = 0; block <= blocks; ++block) {
        who.barrier();
        const std::int64_t start = now_ns();
        for (int i = 0; i < repetitions; ++i) once();
        ns.push_back(static_cast<double>(now_ns() - start) / repetitions / each);
    }
    if (who.rank() == 0) print_median(name, ns);
}

/// Collectives of long blocks. The root changes with each call.
template <class Contestant>
void measure_blocks(Contestant& who) {
    int turn = 0;
    time_together(who, "broadcast 64 KiB", 50, [&] { who.broadcast(medium_bytes, turn++ % 2); });
    time_together(who, "reduce 64 KiB", 50, [&] { who.reduce(medium_bytes, turn++ % 2); });
    time_together(who, "all_reduce 64 KiB", 50, [&] { who.all_reduce(medium_bytes); });
    time_together(who, "all_gather 64 KiB", 50, [&] { who.all_gather(medium_bytes); });
    time_together(who, "exchange 64 KiB", 50, [&] { who.exchange(medium_bytes); });
    time_together(who, "broadcast 1 MiB", 10, [&] { who.broadcast(long_bytes, turn++ % 2); });
    time_together(who, "reduce 1 MiB", 10, [&] { who.reduce(long_bytes, turn++ % 2); });
    time_together(who, "all_reduce 1 MiB", 10, [&] { who.all_reduce(long_bytes); });
    time_together(who, "all_gather 1 MiB", 10, [&] { who.all_gather(long_bytes); });
    time_together(who, "exchange 1 MiB", 10, [&] { who.exchange(long_bytes); });
}

template <class Contestant>
void measure_pair(Contestant& who) {
    time_together(who, "message of 8 B, round trip", 200, [&] { who.ping_pong(); });
    time_together(who, "rpc of 8 B, round trip", 200, [&] { who.call(); });
    time_together(who, "barrier", 200, [&] { who.barrier(); });
    time_alone(who, "put 8 B, complete", 200, [&] { who.put(8); });
    time_alone(who, "get 8 B", 200, [&] { who.get(8); });
    time_alone(who, "fetch_add", 200, [&] { who.fetch_add(); });
    time_alone(who, "put 1 MiB, complete", 10, [&] { who.put(long_bytes); });
    time_alone(who, "get 1 MiB", 10, [&] { who.get(long_bytes); });
    time_alone(
        who, "puts of 1 MiB in a row, each", 1, [&] { who.put_row(long_bytes, long_row); },
        long_row);
    time_alone(
        who, "gets of 1 MiB in a row, each", 1, [&] { who.get_row(long_bytes, long_row); },
        long_row);
    time_alone(who, "puts of 8 B in a row, each", 4, [&] { who.put_row(8, short_row); }, short_row);
    time_together(
        who, "messages of 8 B in a row, each", 4, [&] { who.message_row(short_row); }, short_row);
    time_together(who, "message of 1 MiB and an answer", 10, [&] { who.long_message(); });
    measure_blocks(who);
}

template <class Contestant>
void measure_crowd(Contestant& who, int repetitions) {
    time_together(who, "barrier", repetitions, [&] { who.barrier(); });
    time_together(who, "all_reduce 8 B", repetitions, [&] { who.all_reduce(); });
}

/// @param arguments of the program: how often a block repeats a collective of many ranks.
template <class Contestant>
void measure(Contestant& who, int ranks, int argument_count, char** arguments) {
    if (ranks == 2) return measure_pair(who);
    measure_crowd(who, argument_count > 1 ? std::atoi(arguments[1]) : 10);
}

}  // namespace bench::network
