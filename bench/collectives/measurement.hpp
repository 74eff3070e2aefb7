// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "harness/settings.hpp"
#include "harness/timing.hpp"

namespace bench::collectives {

/// Measures what the ranks of one contestant do together; each rank has one of these and makes the
/// same calls. Programs of Selion and of its peers have it in common, so that they measure alike.
/// `Contestant` has name(), rank(), barrier() and maximum(ns), the largest that any rank passes.
template <class Contestant>
class measurement {
public:
    measurement(Contestant& who, const settings& how) : who_(&who), how_(&how) {}

    Contestant& who() const { return *who_; }

    bool wants(const std::string& operation) const {
        return operation.find(how_->only) != std::string::npos;
    }

    /// Measures `body(turn)`, which does the operation once. @param turn goes on from block to
    /// block, so that who acts by turns keeps its turn.
    template <class Body>
    void repeat(const std::string& operation, Body body) {
        std::uint64_t turn = 0;
        run(operation, [&](std::uint64_t count) {
            const std::int64_t start = now_ns();
            for (std::uint64_t i = 0; i < count; ++i) body(turn++);
            return now_ns() - start;
        });
    }

    /// Prints at rank 0 the nanoseconds of one operation, a number for each block. Of operations
    /// that take much longer than a block shall, fewer blocks than asked for.
    /// @param loop does the operation so many times, and returns the nanoseconds that this rank
    /// measured.
    template <class Loop>
    void run(const std::string& operation, Loop loop) {
        if (!wants(operation)) return;
        const std::uint64_t count = filling_count(loop);
        const std::int64_t most_ns = very_long_ns(how_->blocks);
        std::int64_t total_ns = 0;
        std::vector<double> ns;
        for (std::uint32_t i = 0; i < how_->blocks && total_ns < most_ns; ++i) {
            const std::int64_t block_ns = time_block(loop, count);
            total_ns += block_ns;
            ns.push_back(static_cast<double>(block_ns) / static_cast<double>(count));
        }
        if (who_->rank() == 0) print(operation, count, ns);
    }

    /// Says that nothing is missing. A peer may fall over its own end.
    void finish() const {
        if (who_->rank() != 0) return;
        std::printf("{\"complete\": true}\n");
        std::fflush(stdout);
    }

private:
    /// More than this for so many blocks comes from the operation, not from an interruption.
    std::int64_t very_long_ns(std::int64_t blocks) const {
        return blocks * std::max<std::int64_t>(5 * how_->block_ns, 100'000'000);
    }

    template <class Loop>
    std::int64_t time_block(Loop& loop, std::uint64_t count) {
        who_->barrier();
        return who_->maximum(loop(count));
    }

    /// As many as take as long as a block shall. Twice: the first blocks touch memory for the first
    /// time and start all that is started on first use. A block that took too long is tried again,
    /// because it may have been interrupted; not so one that took very long.
    template <class Loop>
    std::uint64_t filling_count(Loop& loop) {
        constexpr std::uint64_t most = std::uint64_t{1} << 24;
        std::uint64_t count = 1;
        for (int full = 0; full < 3 && count < most;) {
            const std::int64_t ns = time_block(loop, count);
            if (ns >= very_long_ns(1)) return count;
            if (ns >= how_->block_ns) {
                ++full;
            } else {
                count *= 2;
                full = 0;
            }
        }
        return count;
    }

    void print(const std::string& operation, std::uint64_t count,
               const std::vector<double>& ns) const {
        std::printf("{\"operation\": \"%s\", \"contestant\": \"%s\", \"block_iterations\": %llu",
                    operation.c_str(), who_->name(), static_cast<unsigned long long>(count));
        const char* before = ", \"ns\": [";
        for (const double one : ns) {
            std::printf("%s%.2f", before, one);
            before = ", ";
        }
        std::printf("]}\n");
        std::fflush(stdout);
    }

    Contestant* who_;
    const settings* how_;
};

}  // namespace bench::collectives
