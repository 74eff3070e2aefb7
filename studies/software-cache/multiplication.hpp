// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "setting.hpp"

/// The source's three multiplications of square matrices, C = A x B, as programs over arrays that
/// are spread in blocks of b x b elements: in cached memory, or without a cache.
namespace software_cache {

enum class version : std::uint8_t {
    naive,    ///< elements are spread, and each is read by itself
    blocked,  ///< blocks are read as a whole
};

struct multiplication {
    std::size_t d = 0;  ///< rows and columns of each matrix
    version how = version::naive;
    std::size_t b = 1;          ///< rows and columns of a block
    bool is_optimized = false;  ///< the local product, which was assembler then
};

struct multiplied {
    read_counts own;                ///< of the calling rank; all zero without a cache
    std::uint64_t misses_of_a = 0;  ///< reads of A among them
    double seconds = 0;             ///< from when all begin until all have ended
    double largest_error = 0;       ///< of the elements of the calling rank
};

/// Collective: makes the matrices, multiplies and counts. @pre b divides d.
multiplied multiply(selion::world& world, const multiplication& what, const setting& how,
                    std::uint32_t repetition);

}  // namespace software_cache
