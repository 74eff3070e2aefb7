// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <selion/selion.hpp>

#include "harness/arguments.hpp"
#include "harness/rows.hpp"

namespace software_cache {

/// What one point needs besides its own parameters.
struct setting {
    std::size_t block_bytes = 0;  ///< 0: no cache, as in plain Split-C
    /// Where the first array begins, in bytes behind a multiple of any block: an allocator's header
    /// and what else a program has allocated before.
    std::size_t base_offset = 112;
    std::uint64_t seed = 1;
    double skew_us = 0;  ///< each rank begins up to so much later
    bool has_statistics = true;
    selion::prefetch_kind prefetch = selion::prefetch_kind::none;  ///< of two blocks at a time
    selion::memory_consistency consistency = selion::memory_consistency::sequential;
    selion::write_protocol writes = selion::write_protocol::invalidate;
};

/// What plain Split-C takes for a shared variable that is local: a call that finds out where it
/// lies. Assumed because one through the cache takes 350 ns, two to five times as long.
inline constexpr selion::work plain_access_work = selion::loads(1) + selion::int_ops(15);

using measurement = std::function<void(selion::world&, const study::row_frame&)>;

/// @error study::bad_argument unless the parameter is from 1 to `most`.
std::size_t read_size(const nlohmann::ordered_json& params, const char* key, std::size_t most);
/// @param may_be_plain 0 is legal: no cache. @error study::bad_argument
std::size_t read_block_bytes(const nlohmann::ordered_json& params, bool may_be_plain);

/// Ranks begin at random times, as their seed says.
/// Of the first array; where the parameter is missing, the setting's own. @error
/// study::bad_argument
std::size_t read_base_offset(const nlohmann::ordered_json& params);

void begin_at_random(selion::world& world, const setting& how, std::uint32_t repetition);

/// What the source's runs count of one rank.
struct read_counts {
    std::uint64_t reads = 0;
    std::uint64_t remote_reads = 0;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t entries = 0;  ///< of the directory: at home, and of copies

    double remote_percent() const { return percent(remote_reads); }
    double hit_percent() const { return percent(hits); }

private:
    double percent(std::uint64_t part) const {
        return reads == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(reads);
    }
};
read_counts counts_of(const selion::coherent_space& space);
/// Sums over all ranks, which rank 0 has.
read_counts sum_of(const selion::world& world, const read_counts& own);

}  // namespace software_cache
