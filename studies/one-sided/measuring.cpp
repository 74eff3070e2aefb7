// SPDX-License-Identifier: Apache-2.0
#include "measuring.hpp"

#include <algorithm>
#include <vector>

namespace one_sided {

void beside_target(selion::world& world, const processor& cpu,
                   const std::function<void()>& measure) {
    world.barrier();
    if (world.rank() == 0) {
        measure();
    } else if (interrupts_ranks(world)) {
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
