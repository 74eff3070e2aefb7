// SPDX-License-Identifier: Apache-2.0
// What the source's outlook hopes for: arguments that go to all boards at once, and data that go
// from board to board.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments.hpp"
#include "timing.hpp"

namespace offload {
namespace {

std::uint32_t read_bytes(const nlohmann::ordered_json& params) {
    constexpr std::uint64_t most_bytes = 1 << 20;
    const auto bytes = study::parameter<std::uint64_t>(params, "bytes");
    if (bytes >= 1 && bytes <= most_bytes) return static_cast<std::uint32_t>(bytes);
    throw study::bad_argument("'bytes' is " + std::to_string(bytes) + "; legal: 1 to 1048576.");
}

std::uint32_t read_boards(const nlohmann::ordered_json& params) {
    constexpr std::uint32_t most_boards = 16;
    const auto boards = study::parameter<std::uint32_t>(params, "boards");
    if (boards >= 1 && boards <= most_boards) return boards;
    throw study::bad_argument("'boards' is " + std::to_string(boards) + "; legal: 1 to 16.");
}

/// A simulated machine has the boards already.
selion::worker_pool_options options_for(const selion::world& world, std::uint32_t boards) {
    const bool is_real = world.machine().capabilities.real_time;
    selion::worker_pool_options options =
        pool_options(world, is_real ? std::optional(boards) : std::nullopt);
    options.memory_bytes = std::uint64_t{4} << 20;
    return options;
}

}  // namespace

measurement read_broadcast(const study::arguments& given) {
    const std::uint32_t bytes = read_bytes(given.params);
    const std::uint32_t boards = read_boards(given.params);
    return [bytes, boards](selion::world& world, const study::row_frame& frame) {
        selion::worker_pool pool(world, options_for(world, boards));
        if (!pool.is_host()) return;
        settle(world);
        const std::vector<std::byte> data(bytes);
        const double us = least_us(world, [&] { static_cast<void>(pool.replicate(data)); });
        study::print_row(frame, {"total_us", "us"}, study::detail::rounded(us));
    };
}

/// Every board passes its data on to the next one.
measurement read_exchange(const study::arguments& given) {
    const std::uint32_t bytes = read_bytes(given.params);
    const std::uint32_t boards = read_boards(given.params);
    return [bytes, boards](selion::world& world, const study::row_frame& frame) {
        selion::worker_pool pool(world, options_for(world, boards));
        if (!pool.is_host()) return;
        settle(world);
        std::vector<selion::worker_array<std::byte>> sources;
        std::vector<selion::worker_array<std::byte>> targets;
        for (std::uint32_t worker = 0; worker < pool.size(); ++worker) {
            sources.push_back(pool.allocate<std::byte>(worker, bytes));
            targets.push_back(pool.allocate<std::byte>(worker, bytes));
        }
        const double us = least_us(world, [&] {
            for (std::uint32_t worker = 0; worker < pool.size(); ++worker) {
                sources[worker].copy_to(targets[(worker + 1) % pool.size()]);
            }
        });
        study::print_row(frame, {"total_us", "us"}, study::detail::rounded(us));
    };
}

}  // namespace offload
