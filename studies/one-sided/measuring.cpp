// SPDX-License-Identifier: Apache-2.0
#include "measuring.hpp"

#include <selion/selion.hpp>

#include <algorithm>
#include <atomic>
#include <vector>

namespace one_sided {

namespace {

/// Where time is real nobody knows how long the others take.
void compute_beside(selion::world& world, const processor& cpu,
                    const std::function<void()>& measure) {
    const auto over = selion::allocate<std::uint32_t>(world, 1);
    world.barrier();
    if (world.rank() == 0) {
        measure();
        selion::put(over.on(1), 1);
        selion::quiet();
    } else {
        constexpr double between_looks_ns = 10'000;
        const std::atomic_ref<std::uint32_t> is_over(*over.local());
        while (is_over.load(std::memory_order_relaxed) == 0) cpu.compute(between_looks_ns);
    }
    selion::deallocate(world, over);
}

}  // namespace

void beside_target(selion::world& world, const processor& cpu,
                   const std::function<void()>& measure) {
    const bool computes = interrupts_ranks(world);
    if (computes && world.machine().capabilities.real_time) {
        return compute_beside(world, cpu, measure);
    }
    world.barrier();
    if (world.rank() == 0) {
        measure();
    } else if (computes) {
        constexpr double longer_than_all_ns = 1e13;
        cpu.compute(longer_than_all_ns);
    }
    world.barrier();
}

study::spread time_calls(const selion::world& world,
                         const std::function<void(std::uint64_t count)>& calls) {
    const auto time_of = [&](std::uint64_t count) {
        const std::int64_t start_ps = world.now_ps();
        calls(count);
        return static_cast<double>(world.now_ps() - start_ps) / 1000;
    };
    if (!world.machine().capabilities.real_time) {
        constexpr std::uint64_t count = 1000;
        return study::spread_of({time_of(count) / static_cast<double>(count)});
    }
    // A clock that is read in about 20 ns adds 0.1 % to a block of this length.
    constexpr double block_ns = 20'000;
    constexpr std::uint64_t most_count = std::uint64_t{1} << 20;
    constexpr int samples = 101;
    std::uint64_t count = 1;
    while (count < most_count && std::min(time_of(count), time_of(count)) < block_ns) count *= 2;
    std::vector<double> each;
    for (int i = 0; i < samples; ++i) {
        each.push_back(time_of(count) / static_cast<double>(count));
    }
    return study::spread_of(each);
}

void print_figure(const selion::world& world, const study::row_frame& frame,
                  const study::measurement& what, const study::spread& figure) {
    if (world.machine().capabilities.real_time) {
        study::print_row(frame, what, figure);
    } else {
        study::print_row(frame, what, study::detail::rounded(figure.median));
    }
}

study::spread in_us(const study::spread& ns, std::uint32_t shares) {
    const double unit = 1000.0 * shares;
    return {ns.median / unit, ns.p5 / unit, ns.p95 / unit, ns.n};
}

study::spread in_mib_per_s(std::uint64_t bytes, const study::spread& ns) {
    constexpr double mib = 1 << 20;
    const double all = static_cast<double>(bytes) / mib * 1e9;
    return {all / ns.median, all / ns.p95, all / ns.p5, ns.n};
}

}  // namespace one_sided
