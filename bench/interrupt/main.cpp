// SPDX-License-Identifier: Apache-2.0
// How long a message to a rank that computes and never calls waits for its handler.
#include <atomic>
#include <cstdint>
#include <cstdio>

#include "harness/contest.hpp"
#include "harness/pair.hpp"

namespace {

/// When a handler ran, for the rank that sent the message.
struct stamp_line {
    alignas(128) std::int64_t time_ns;
};

struct request {
    selion::global_ptr<stamp_line> stamp;
};

selion::arrival note_time(const request& came, selion::message_info) {
    std::atomic_ref(came.stamp.local()->time_ns).store(bench::now_ns(), std::memory_order_release);
    return {};
}

/// Rank 1 computes until it is told to stop, and looks at nothing but its own memory. The messages
/// are far apart, so that each finds everybody asleep who can sleep.
bench::loop one_at_a_time(const selion::world& world) {
    const auto stamps = selion::allocate<stamp_line>(world, 2);
    const bool sends = world.rank() == 0;
    std::int64_t* const seen = &stamps.local()->time_ns;
    const auto stop = stamps.on(1) + 1;
    std::int64_t* const own_stop = &(stamps + 1).local()->time_ns;
    return [=, turn = std::int64_t{0}](std::uint64_t count) mutable -> std::int64_t {
        ++turn;
        if (!sends) {
            while (std::atomic_ref(*own_stop).load(std::memory_order_acquire) < turn) {
            }
            return 0;
        }
        constexpr std::int64_t pause_ns = 200'000;
        std::int64_t total = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            for (const std::int64_t start = bench::now_ns(); bench::now_ns() - start < pause_ns;) {
            }
            std::atomic_ref(*seen).store(0, std::memory_order_relaxed);
            const std::int64_t sent = bench::now_ns();
            selion::send(1, note_time, request{stamps.on(0)});
            std::int64_t then = 0;
            while (then == 0) then = std::atomic_ref(*seen).load(std::memory_order_acquire);
            total += then - sent;
        }
        std::atomic_ref(stop.local()->time_ns).store(turn, std::memory_order_release);
        return total;
    };
}

}  // namespace

int main(int argc, char** argv) {
    const bench::settings how = bench::parse_settings(argc, argv, {});
    const int processors = bench::usable_processors();
    return selion::run(
        argc, argv, {.machine = "threads:2,progress=interrupt"}, [&](selion::world& world) {
            if (!bench::is_pair(world, "bench_interrupt", processors)) return 2;
            if (world.progress() != selion::progress_kind::interrupt) {
                if (world.rank() == 0) {
                    std::fprintf(stderr, "bench_interrupt runs with progress=interrupt\n");
                }
                return 2;
            }
            const bench::loop messages = one_at_a_time(world);
            bench::measure(world, {{"message to a rank that computes", {{"selion", messages}}}}, {},
                           how);
            return 0;
        });
}
