// SPDX-License-Identifier: Apache-2.0
#include "core_costs.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

namespace calibrate {
namespace {

constexpr std::uint64_t words = 64;
using word_block = std::array<std::uint64_t, words>;

/// Of one of `count` equal parts of a step.
study::spread part_of(study::spread step, double count) {
    return {step.median / count, step.p5 / count, step.p95 / count, step.n};
}

}  // namespace

// A step of both goes over the whole block, so that hardly any time is the loop's own. Addresses
// are copied into registers: the compiler must take what a lambda captures for changed memory.

study::spread load_ns(const effort& how) {
    alignas(128) word_block block{};
    const auto each = [captured = block.data()](std::uint64_t steps) {
        const std::uint64_t* const from = captured;
        for (std::uint64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 64
            for (std::uint64_t k = 0; k < words; ++k) consume(from[k]);
        }
    };
    return part_of(time_steps(how, each), words);
}

study::spread store_ns(const effort& how) {
    alignas(128) word_block block{};
    const auto each = [captured = block.data()](std::uint64_t steps) {
        std::uint64_t* const to = captured;
        for (std::uint64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 64
            for (std::uint64_t k = 0; k < words; ++k) {
                to[k] = i;
                clobber();
            }
        }
    };
    return part_of(time_steps(how, each), words);
}

study::spread int_op_ns(const effort& how) {
    constexpr std::uint64_t operations = 8;
    const auto each = [](std::uint64_t steps) {
        std::uint64_t value = steps;
        for (std::uint64_t i = 0; i < steps; ++i) {
            for (std::uint64_t k = 0; k < operations / 2; ++k) {
                value += steps;
                conceal(value);
                value ^= steps;
                conceal(value);
            }
        }
        consume(value);
    };
    return part_of(time_steps(how, each), operations);
}

study::spread product_sum_ns(const effort& how) {
    constexpr std::size_t length = 512;
    std::vector<double> left(length, 1.5);
    std::vector<double> right(length, 0.25);
    const auto each = [&](std::uint64_t steps) {
        for (std::uint64_t i = 0; i < steps; ++i) {
            double sum = 0;
            // Without leave to reassociate, each addition waits for the one before.
            for (std::size_t k = 0; k < length; ++k) sum += left[k] * right[k];
            asm volatile("" : : "x"(sum) : "memory");
        }
    };
    return part_of(time_steps(how, each), length);
}

study::spread poll_ns(const effort& how) {
    alignas(128) std::uint64_t flag = 0;
    return time_steps(how, [&](std::uint64_t steps) {
        for (std::uint64_t i = 0; i < steps; ++i) {
            pause_processor();
            consume(std::atomic_ref(flag).load(std::memory_order_acquire));
        }
    });
}

study::spread atomic_ns(const effort& how) {
    alignas(128) std::uint64_t counter = 0;
    return time_steps(how, [&](std::uint64_t steps) {
        for (std::uint64_t i = 0; i < steps; ++i) {
            consume(std::atomic_ref(counter).fetch_add(1, std::memory_order_acq_rel));
        }
    });
}

study::spread copied_byte_ns(const effort& how, std::uint64_t block_bytes) {
    const std::vector<std::byte> from(block_bytes, std::byte{1});
    std::vector<std::byte> to(block_bytes);
    std::vector<double> each;
    const auto copy = [&](std::uint64_t times) {
        const std::int64_t start = now_ns();
        for (std::uint64_t i = 0; i < times; ++i) {
            std::memcpy(to.data(), from.data(), block_bytes);
            clobber();
        }
        return now_ns() - start;
    };
    const std::uint64_t times = std::max<std::uint64_t>(1, (std::uint64_t{1} << 20) / block_bytes);
    for (int i = 0; i < 3; ++i) copy(times);
    for (std::size_t i = 0; i < how.samples; ++i) {
        each.push_back(static_cast<double>(copy(times)) / static_cast<double>(times * block_bytes));
    }
    return study::spread_of(each);
}

}  // namespace calibrate
