// SPDX-License-Identifier: Apache-2.0
// One worker: how fast data travel, what a call takes, and a product of matrices.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "experiments.hpp"
#include "timing.hpp"

namespace offload {
namespace {

using selion::worker_pool;

constexpr std::uint32_t most_side = 960;  // three matrices in 8 MB
/// The point at which `n_where_r_cc_is_1` is looked for as well.
constexpr std::uint32_t side_of_crossing = 256;

const selion::routine nothing{"nothing", [] {}};
const selion::routine take{"take", [](std::int32_t) {}};
const selion::routine answer{"answer", [] { return std::int32_t{7}; }};

/// C = A B, of 16-bit numbers, as the boards' users had them. Where time is virtual only its
/// multiplications and additions are spent.
const selion::routine multiply{
    "multiply", [](std::uint32_t n, std::span<const std::int16_t> a,
                   std::span<const std::int16_t> b, std::span<std::int32_t> c, bool computes) {
        selion::charge(selion::int_ops(2 * std::uint64_t{n} * n * n));
        if (!computes) return;
        for (std::uint32_t i = 0; i < n; ++i) {
            std::int32_t* const row = c.data() + std::size_t{i} * n;
            std::fill(row, row + n, 0);
            for (std::uint32_t k = 0; k < n; ++k) {
                const std::int32_t factor = a[std::size_t{i} * n + k];
                const std::int16_t* const line = b.data() + std::size_t{k} * n;
                for (std::uint32_t j = 0; j < n; ++j) row[j] += factor * line[j];
            }
        }
    }};

std::uint32_t read_natural(const nlohmann::ordered_json& params, const char* key,
                           std::uint32_t most) {
    const auto value = study::parameter<std::uint64_t>(params, key);
    if (value >= 1 && value <= most) return static_cast<std::uint32_t>(value);
    throw study::bad_argument(std::string("'") + key + "' is " + std::to_string(value) +
                              "; legal: 1 to " + std::to_string(most) + ".");
}

/// What a transfer of so many bytes to the worker takes, without any call.
double bare_write_us(const selion::world& world, worker_pool& pool, std::size_t bytes) {
    auto there = pool.allocate<std::byte>(0, bytes);
    const std::vector<std::byte> data(bytes);
    return least_us(world, [&] { there.write(0, data); });
}

/// A call that returns when the worker has it, and its bytes on the bus.
template <class Call>
double call_us(selion::world& world, worker_pool& pool, Call call) {
    const selion::machine_capabilities& can = world.machine().capabilities;
    double bus_us = 0;
    if (!can.real_time) {
        selion::meter bytes("call bytes", "message_bytes");
        bytes.start();
        call().wait();
        bytes.stop();
        // The signal that a put announces itself with is a word more.
        bus_us = bare_write_us(world, pool, static_cast<std::size_t>(bytes.value()) + 8);
    }
    const double whole_us = least_us(world, [&] {
        auto made = call();
        if (can.real_time) made.wait();
    });
    pool.wait_all();
    return whole_us - bus_us;
}

/// What the host does when the worker has been done for long.
template <class Call>
double wait_us(selion::world& world, worker_pool& pool, Call call) {
    static_cast<void>(pool);
    const bool is_real = world.machine().capabilities.real_time;
    double least = 1e9;
    for (int i = 0; i < (is_real ? 25 : 1); ++i) {
        auto made = call();
        // The host computes meanwhile.
        selion::charge(selion::nanoseconds(10'000'000));
        const std::int64_t until = world.now() + (is_real ? 50'000 : 0);
        while (world.now() < until) {
        }
        const std::int64_t start = world.now_ps();
        made.wait();
        least = std::min(least, static_cast<double>(world.now_ps() - start) * 1e-6);
    }
    return least;
}

void measure_step(selion::world& world, worker_pool& pool, const std::string& step,
                  const study::row_frame& frame) {
    const auto plain = [&] { return pool.call(nothing); };
    const auto with_argument = [&] { return pool.call(take, 1); };
    const auto with_result = [&] { return pool.call(answer); };
    double us = 0;
    if (step == "call_no_arguments") us = call_us(world, pool, plain);
    if (step == "call_with_arguments") us = call_us(world, pool, with_argument);
    if (step == "synchronise") us = wait_us(world, pool, plain);
    if (step == "read_result") {
        us = wait_us(world, pool, with_result) - wait_us(world, pool, plain);
    }
    study::print_row(frame, {"time_us", "us"}, study::detail::rounded(us));
}

/// One product on the first worker, and what of its time was computing.
struct product_times {
    double whole_us;
    double computing_us;
    double communication_ratio() const { return (whole_us - computing_us) / computing_us; }
};

product_times time_product(selion::world& world, worker_pool& pool, std::uint32_t n) {
    const bool is_real = world.machine().capabilities.real_time;
    const std::size_t count = std::size_t{n} * n;
    const std::vector<std::int16_t> a(count, 2);
    const std::vector<std::int16_t> b(count, 3);
    std::vector<std::int32_t> c(count);
    double computing_us = 0;  // of the call that took least
    auto before = pool.profile().compute;
    const auto note = [&](bool is_least) {
        const auto now = pool.profile().compute;
        if (is_least) computing_us = (now - before).count() * 1e6;
        before = now;
    };
    const double us = least_us(
        world, [&] { pool.call(multiply, n, a, b, selion::out(c), is_real).wait(); }, note);
    return {us, computing_us};
}

/// The side at which communication takes as long as computing: between two neighbours, linearly.
/// 0: for none that the worker has room for.
double find_crossing(selion::world& world, worker_pool& pool) {
    std::uint32_t below = 1;
    std::uint32_t above = most_side;
    if (time_product(world, pool, above).communication_ratio() > 1) return 0;
    while (above - below > 1) {
        const std::uint32_t middle = (below + above) / 2;
        const bool is_below = time_product(world, pool, middle).communication_ratio() > 1;
        (is_below ? below : above) = middle;
    }
    const double over = time_product(world, pool, below).communication_ratio() - 1;
    const double under = 1 - time_product(world, pool, above).communication_ratio();
    return below + over / (over + under);
}

}  // namespace

measurement read_transfer(const study::arguments& given) {
    constexpr std::uint32_t most_bytes = 4 << 20;
    const auto direction = study::parameter<std::string>(given.params, "direction");
    const std::uint32_t bytes = read_natural(given.params, "bytes", most_bytes);
    return [direction, bytes](selion::world& world, const study::row_frame& frame) {
        selion::worker_pool_options options = pool_options(world, 1);
        options.memory_bytes = most_bytes + 4096;
        worker_pool pool(world, options);
        if (!pool.is_host()) return;
        settle(world);
        auto there = pool.allocate<std::byte>(0, bytes);
        std::vector<std::byte> here(bytes);
        const double us = least_us(world, [&] {
            if (direction == "write") {
                there.write(0, here);
            } else {
                there.read(0, here);
            }
        });
        study::print_row(frame, {"bandwidth_mb_per_s", "MB/s"}, study::detail::rounded(bytes / us));
    };
}

measurement read_call_overhead(const study::arguments& given) {
    const auto step = study::parameter<std::string>(given.params, "step");
    return [step](selion::world& world, const study::row_frame& frame) {
        worker_pool pool(world, pool_options(world, 1));
        if (!pool.is_host()) return;
        settle(world);
        measure_step(world, pool, step, frame);
    };
}

measurement read_matmul(const study::arguments& given) {
    const std::uint32_t n = read_natural(given.params, "n", most_side);
    return [n](selion::world& world, const study::row_frame& frame) {
        selion::worker_pool_options options = pool_options(world, 1);
        options.memory_bytes = 8 * std::uint64_t{most_side} * most_side + 16384;
        worker_pool pool(world, options);
        if (!pool.is_host()) return;
        settle(world);
        const product_times took = time_product(world, pool, n);
        const double macs = static_cast<double>(n) * n * n;
        study::print_row(frame, {"mmac_per_s", "MMAC/s"},
                         study::detail::rounded(macs / took.whole_us));
        study::print_row(frame, {"r_cc", ""}, study::detail::rounded(took.communication_ratio()));
        if (n != side_of_crossing) return;
        study::row_frame whole = frame;
        whole.params.erase("n");
        study::print_row(whole, {"n_where_r_cc_is_1", ""},
                         study::detail::rounded(find_crossing(world, pool)));
    };
}

}  // namespace offload
