// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <concepts>
#include <string>
#include <string_view>

namespace bench {

/// The host's time, not the simulator's: what passed, and what processors worked for this process.
/// The two are equal where a program has a processor to itself.
class stopwatch {
public:
    double seconds() const { return since(start_, now(CLOCK_MONOTONIC)); }
    double cpu_seconds() const { return since(cpu_start_, now(CLOCK_PROCESS_CPUTIME_ID)); }

private:
    static timespec now(clockid_t which) {
        timespec time{};
        clock_gettime(which, &time);
        return time;
    }
    static double since(const timespec& start, const timespec& end) {
        return static_cast<double>(end.tv_sec - start.tv_sec) +
               static_cast<double>(end.tv_nsec - start.tv_nsec) * 1e-9;
    }

    timespec start_ = now(CLOCK_MONOTONIC);
    timespec cpu_start_ = now(CLOCK_PROCESS_CPUTIME_ID);
};

/// One line of JSON: what was done, by whom, and what it took.
class row {
public:
    row(std::string_view operation, std::string_view contestant);

    row& add(std::string_view key, std::string_view text);
    row& add(std::string_view key, double number);
    row& add(std::string_view key, std::integral auto count) {
        return add_raw(key, std::to_string(count));
    }
    /// "seconds" and "cpu_seconds" of one of `count` things that were done since `watch` began.
    row& add_times(const stopwatch& watch, std::integral auto count) {
        const auto times = static_cast<double>(count);
        const double cpu_seconds = watch.cpu_seconds();
        return add("seconds", watch.seconds() / times).add("cpu_seconds", cpu_seconds / times);
    }
    void print() const;

private:
    row& add_raw(std::string_view key, std::string_view value);

    std::string text_;
};

}  // namespace bench
