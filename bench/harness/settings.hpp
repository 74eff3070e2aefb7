// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace bench {

/// How a program measures. One number of a round is the least of several short blocks: a block that
/// another program interrupted does not count. The numbers of one round make the ratios.
struct settings {
    std::uint32_t rounds = 21;
    std::uint32_t blocks = 12;
    std::int64_t block_ns = 50'000;
    std::uint64_t iterations = 0;  ///< of every block; 0: as many as fill block_ns, for each
    std::uint64_t seed = 1;
    std::string only;  ///< part of the names of the operations to measure; empty: all
};

/// Reads --rounds, --blocks, --block-us, --seed and --only. Says what is wrong and exits with
/// status 2.
settings parse_settings(int argc, char** argv, settings defaults);

}  // namespace bench
