// SPDX-License-Identifier: Apache-2.0
#include "points.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "measuring.hpp"
#include "operations.hpp"
#include "overlap.hpp"
#include "processor.hpp"
#include "waiting.hpp"

namespace one_sided {

measurement read_transfer(const nlohmann::ordered_json& params, transfer_figure wanted) {
    const operation what = read_operation(params);
    const waiting how = read_waiting(params);
    return [=](selion::world& world, const study::row_frame& frame) {
        const processor cpu(world);
        slots slots(world, what);
        beside_target(world, cpu, [&] {
            selion::counter done;
            const study::spread ns = time_calls(world, [&](std::uint64_t count) {
                for (std::uint64_t i = 0; i < count; ++i) {
                    slots.start(0, {.completion = &done});
                    wait_for(done, 1, how);
                }
            });
            if (wanted == transfer_figure::bandwidth) {
                print_figure(world, frame, {"bandwidth_mib_per_s", "MiB/s"},
                             in_mib_per_s(what.bytes, ns));
            } else {
                print_figure(world, frame, {"latency_us", "us"}, in_us(ns));
            }
        });
    };
}

measurement read_queue(const nlohmann::ordered_json& params) {
    const operation what = read_operation(params);
    return [=](selion::world& world, const study::row_frame& frame) {
        const processor cpu(world);
        slots slots(world, what);
        beside_target(world, cpu, [&] {
            selion::counter done;
            const study::spread ns = time_calls(world, [&](std::uint64_t count) {
                for (std::uint64_t i = 0; i < count; ++i) {
                    for (std::uint32_t slot = 0; slot < what.depth; ++slot) {
                        slots.start(slot, {.completion = &done});
                    }
                    done.wait(what.depth);
                }
            });
            print_figure(world, frame, {"effective_latency_us", "us"}, in_us(ns, what.depth));
            print_figure(world, frame, {"bandwidth_mib_per_s", "MiB/s"},
                         in_mib_per_s(what.bytes * what.depth, ns));
        });
    };
}

measurement read_overlap(const nlohmann::ordered_json& params, waiting how) {
    const operation what = read_operation(params);
    const auto cpu_us = study::parameter<double>(params, "cpu_us");
    if (!(cpu_us >= 0)) {
        throw study::bad_argument("'cpu_us' is " + std::to_string(cpu_us) + "; legal: from 0 on.");
    }
    return [=](selion::world& world, const study::row_frame& frame) {
        const processor cpu(world);
        slots slots(world, what);
        beside_target(world, cpu, [&] {
            overlap_test test(world, slots, cpu, how);
            print_figure(world, frame, {"effective_latency_us", "us"},
                         in_us(test.effective_latency(cpu_us * 1000)));
            if (cpu_us != 0) return;
            study::row_frame whole_curve = frame;
            whole_curve.params.erase("cpu_us");
            study::print_row(whole_curve, {"overlap_us", "us"},
                             study::detail::rounded(test.free_ns() / 1000));
        });
    };
}

measurement read_faulty_link(const nlohmann::ordered_json& params) {
    const operation what = read_operation(params);
    study::parameter<double>(params, "loss");  // the machine's
    return [=](selion::world& world, const study::row_frame& frame) {
        constexpr std::uint64_t operations = 10000;
        constexpr std::chrono::milliseconds patience{10};
        slots slots(world, what);
        world.barrier();
        if (is_origin(world)) {
            selion::counter done;
            std::uint64_t timeouts = 0;
            std::int64_t longest_ps = 0;
            const std::int64_t begun_ps = world.now_ps();
            for (std::uint64_t i = 0; i < operations; ++i) {
                const std::int64_t start_ps = world.now_ps();
                slots.start(0, {.completion = &done});
                if (!done.wait(1, patience)) {
                    ++timeouts;
                    done.wait();
                }
                longest_ps = std::max(longest_ps, world.now_ps() - start_ps);
            }
            const auto us = [](std::int64_t ps) { return static_cast<double>(ps) / 1e6; };
            const double mean_us = us(world.now_ps() - begun_ps) / operations;
            study::print_row(frame, {"latency_us", "us"}, study::detail::rounded(mean_us));
            study::print_row(frame, {"longest_us", "us"}, study::detail::rounded(us(longest_ps)));
            study::print_row(frame, {"timeouts", "1"}, static_cast<double>(timeouts));
        }
        world.barrier();
    };
}

measurement read_silent_target(const nlohmann::ordered_json& params) {
    const operation what = read_operation(params);
    const auto start_ms = study::parameter<double>(params, "start_ms");
    return [=](selion::world& world, const study::row_frame& frame) {
        constexpr double ns_per_ms = 1e6;
        constexpr double silent_ms = 1000;
        const processor cpu(world);
        slots slots(world, what);
        selion::counter done;
        if (is_origin(world)) {  // once before, so that caches and pages are ready
            slots.start(0, {.completion = &done});
            done.wait();
        }
        world.barrier();
        if (is_origin(world)) {
            cpu.compute(start_ms * ns_per_ms);
            const std::int64_t begun_ps = world.now_ps();
            slots.start(0, {.completion = &done});
            done.wait();
            const double us = static_cast<double>(world.now_ps() - begun_ps) / 1e6;
            study::print_row(frame, {"latency_us", "us"}, study::detail::rounded(us));
        } else {
            cpu.compute(silent_ms * ns_per_ms);
        }
        world.barrier();
    };
}

}  // namespace one_sided
