// SPDX-License-Identifier: Apache-2.0
#include "tables.hpp"

#include <span>
#include <string>
#include <vector>

#include "multiplication.hpp"

namespace software_cache {
namespace {

constexpr std::size_t largest_d = 4096;

selion::prefetch_kind read_prefetch(const nlohmann::ordered_json& params) {
    const auto name = study::parameter<std::string>(params, "prefetch");
    if (name == "none") return selion::prefetch_kind::none;
    if (name == "next") return selion::prefetch_kind::next;
    if (name == "strided") return selion::prefetch_kind::strided;
    throw study::bad_argument("'prefetch' is '" + name + "'; legal: none, next, strided.");
}

/// @param otherwise_d rows where the parameters name none.
multiplication read_multiplication(const nlohmann::ordered_json& params,
                                   std::size_t otherwise_d = 128) {
    multiplication what;
    what.d = params.contains("d") ? read_size(params, "d", largest_d) : otherwise_d;
    if (!params.contains("version")) return what;
    const auto name = study::parameter<std::string>(params, "version");
    if (name != "naive" && name != "blocked") {
        throw study::bad_argument("'version' is '" + name + "'; legal: naive, blocked.");
    }
    what.how = name == "naive" ? version::naive : version::blocked;
    what.b = read_size(params, "b", what.d);
    if (what.d % what.b != 0) {
        throw study::bad_argument("'b' is " + std::to_string(what.b) + "; legal are divisors of " +
                                  std::to_string(what.d) + ", the number of rows.");
    }
    if (params.contains("optimized")) {
        what.is_optimized = study::parameter<bool>(params, "optimized");
    }
    return what;
}

void check_result(const selion::world& world, const multiplied& done) {
    if (done.largest_error == 0) return;
    throw std::runtime_error("rank " + std::to_string(std::uint32_t{world.rank()}) +
                             ": the product is wrong");
}

/// A figure of each rank: a whole number where all have the same.
nlohmann::ordered_json per_rank(std::uint64_t sum, std::uint32_t ranks) {
    if (sum % ranks == 0) return sum / ranks;
    return study::detail::rounded(static_cast<double>(sum) / ranks);
}

/// On rank 0.
std::vector<std::uint64_t> gather(const selion::world& world, std::uint64_t own) {
    std::vector<std::uint64_t> all(world.size());
    world.gather(std::span(&own, 1), std::span(all), 0);
    return all;
}

void print_counts(const study::row_frame& frame, const read_counts& all, std::uint32_t ranks) {
    study::print_row(frame, {"shared_reads_per_rank", "reads"}, per_rank(all.reads, ranks));
    study::print_row(frame, {"remote_percent", "%"}, study::detail::rounded(all.remote_percent()));
    study::print_row(frame, {"hit_percent", "%"}, study::detail::rounded(all.hit_percent()));
    study::print_row(frame, {"directory_entries_per_rank", "entries"},
                     per_rank(all.entries, ranks));
}

}  // namespace

measurement read_naive_counts(const nlohmann::ordered_json& params, std::uint64_t seed,
                              bool is_table_1) {
    const multiplication what = read_multiplication(params);
    const setting how{.block_bytes = read_block_bytes(params, false),
                      .base_offset = read_base_offset(params),
                      .seed = seed};
    return [=](selion::world& world, const study::row_frame& frame) {
        const multiplied done = multiply(world, what, how, frame.repetition);
        check_result(world, done);
        const read_counts all = sum_of(world, done.own);
        if (world.rank() != 0) return;
        if (!is_table_1) return print_counts(frame, all, world.size());
        study::print_row(frame, {"remote_reads_per_rank", "reads"},
                         per_rank(all.remote_reads, world.size()));
        study::print_row(frame, {"hit_percent", "%"}, study::detail::rounded(all.hit_percent()));
        const std::uint32_t others = std::max(std::uint32_t{world.size()} - 1, 1u);
        study::print_row(frame, {"misses_per_remote_home", "misses"},
                         per_rank(all.misses, world.size() * others));
    };
}

/// Misses of each processor at 8 x 8 elements, which depend on when they begin.
measurement read_start_skew(const nlohmann::ordered_json& params, std::uint64_t seed) {
    multiplication what;
    what.d = read_size(params, "d", largest_d);
    const setting how{.block_bytes = read_block_bytes(params, false),
                      .base_offset = read_base_offset(params),
                      .seed = seed,
                      .skew_us = study::parameter<double>(params, "skew_us")};
    return [=](selion::world& world, const study::row_frame& frame) {
        const multiplied done = multiply(world, what, how, frame.repetition);
        check_result(world, done);
        const auto misses = gather(world, done.own.misses);
        const auto of_a = gather(world, done.misses_of_a);
        if (world.rank() != 0) return;
        for (std::uint32_t rank = 0; rank < world.size(); ++rank) {
            study::row_frame own = frame;
            own.params["rank"] = rank;
            study::print_row(own, {"misses", "misses"}, misses[rank]);
            study::print_row(own, {"misses_of_a", "misses"}, of_a[rank]);
        }
    };
}

measurement read_version_counts(const nlohmann::ordered_json& params, std::uint64_t seed) {
    const multiplication what = read_multiplication(params);
    setting how{.block_bytes = read_block_bytes(params, false),
                .base_offset = read_base_offset(params),
                .seed = seed};
    if (params.contains("skew_us")) how.skew_us = study::parameter<double>(params, "skew_us");
    return [=](selion::world& world, const study::row_frame& frame) {
        const multiplied done = multiply(world, what, how, frame.repetition);
        check_result(world, done);
        // Where processor 0 has written all blocks it has them all, and misses none.
        const bool counts = what.how == version::naive || world.rank() != 0 || world.size() == 1;
        const read_counts all = sum_of(world, counts ? done.own : read_counts{});
        const auto ranks = world.all_reduce(counts ? 1u : 0u, selion::plus);
        if (world.rank() == 0) print_counts(frame, all, ranks);
    };
}

measurement read_rate(const nlohmann::ordered_json& params, std::uint64_t seed) {
    const multiplication what = read_multiplication(params, params.contains("version") ? 512 : 128);
    setting how{
        .block_bytes = read_block_bytes(params, true), .seed = seed, .has_statistics = false};
    if (params.contains("prefetch")) how.prefetch = read_prefetch(params);
    return [=](selion::world& world, const study::row_frame& frame) {
        const multiplied done = multiply(world, what, how, frame.repetition);
        check_result(world, done);
        if (world.rank() != 0) return;
        const auto d = static_cast<double>(what.d);
        study::print_row(frame, {"mflops", "MFLOP/s"},
                         study::detail::rounded(2 * d * d * d / done.seconds * 1e-6));
    };
}

}  // namespace software_cache
