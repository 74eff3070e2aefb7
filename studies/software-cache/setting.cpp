// SPDX-License-Identifier: Apache-2.0
#include "setting.hpp"

#include <bit>
#include <random>
#include <string>

namespace software_cache {

std::size_t read_size(const nlohmann::ordered_json& params, const char* key, std::size_t most) {
    const auto value = study::parameter<std::size_t>(params, key);
    if (value == 0 || value > most) {
        throw study::bad_argument("'" + std::string(key) + "' is " + std::to_string(value) +
                                  "; legal: 1 to " + std::to_string(most) + ".");
    }
    return value;
}

/// @param may_be_plain 0 is legal: no cache.
std::size_t read_block_bytes(const nlohmann::ordered_json& params, bool may_be_plain) {
    const auto value = study::parameter<std::size_t>(params, "block_bytes");
    const bool is_block = std::has_single_bit(value) && value >= 8 && value <= 65536;
    if (!is_block && !(may_be_plain && value == 0)) {
        throw study::bad_argument("'block_bytes' is " + std::to_string(value) +
                                  "; legal: powers of two from 8 to 65536" +
                                  (may_be_plain ? ", and 0 for no cache." : "."));
    }
    return value;
}

std::size_t read_base_offset(const nlohmann::ordered_json& params) {
    if (!params.contains("base_offset")) return setting{}.base_offset;
    const auto value = study::parameter<std::size_t>(params, "base_offset");
    if (value % sizeof(double) == 0) return value;
    throw study::bad_argument("'base_offset' is " + std::to_string(value) +
                              "; legal are multiples of 8, the size of an element.");
}

void begin_at_random(selion::world& world, const setting& how, std::uint32_t repetition) {
    world.barrier();
    if (how.skew_us == 0) return;
    std::seed_seq seeds{static_cast<std::uint32_t>(how.seed), repetition,
                        std::uint32_t{world.rank()}};
    std::mt19937_64 random(seeds);
    std::uniform_real_distribution<double> ns(0, how.skew_us * 1000);
    selion::charge(selion::nanoseconds(static_cast<std::int64_t>(ns(random))));
}

read_counts counts_of(const selion::coherent_space& space) {
    const selion::access_counts accesses = space.accesses();
    const selion::cache_counts blocks = space.counts();
    return {.reads = accesses.reads,
            .remote_reads = accesses.remote_reads,
            .hits = accesses.reads - accesses.read_misses,
            .misses = accesses.read_misses,
            .entries = blocks.home_entries + blocks.copy_entries};
}

read_counts sum_of(const selion::world& world, const read_counts& own) {
    const auto sum = [&](std::uint64_t value) { return world.all_reduce(value, selion::plus); };
    return {.reads = sum(own.reads),
            .remote_reads = sum(own.remote_reads),
            .hits = sum(own.hits),
            .misses = sum(own.misses),
            .entries = sum(own.entries)};
}

}  // namespace software_cache
