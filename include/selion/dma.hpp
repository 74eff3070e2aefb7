// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <source_location>
#include <span>
#include <type_traits>
#include <vector>

#include <selion/counter.hpp>
#include <selion/detail/element_memory.hpp>
#include <selion/detail/export.hpp>
#include <selion/global_ptr.hpp>

/// Transfers by descriptors, as DMA engines make them: one block after another, in one or two
/// dimensions, while the processor does something else.
namespace selion {

/// One block: rows of elements that lie one behind the other. `source` stays as it is until the
/// block's origin or completion counter has counted.
template <class T>
struct dma_descriptor {
    global_ptr<T> target;
    const T* source = nullptr;
    std::size_t columns = 0;           ///< elements of a row
    std::size_t rows = 1;              ///< 1: a block of one dimension
    std::ptrdiff_t target_stride = 0;  ///< elements from a row to the next one, there
    std::ptrdiff_t source_stride = 0;  ///< and here
};

namespace detail {

struct erased_descriptor {
    std::uint64_t target;
    const std::byte* source;
    std::size_t row_bytes;
    std::size_t rows;
    std::ptrdiff_t target_stride;  ///< bytes, here and below
    std::ptrdiff_t source_stride;
};

/// Of so many elements; as many as can be where that is more.
template <class T, class Count>
constexpr Count bytes_of(Count elements) {
    Count bytes{};
    const bool is_too_much =
        __builtin_mul_overflow(elements, static_cast<Count>(sizeof(T)), &bytes);
    return is_too_much ? std::numeric_limits<Count>::max() : bytes;
}

SELION_API void start_dma(std::span<const erased_descriptor> chain, const counters& when,
                          std::source_location site);

}  // namespace detail

/// Starts the blocks of a chain, one after another; descriptors are read before this returns. Each
/// block counts once on each counter of `when`, so wait for as many as the chain has; those to one
/// rank take effect in their order, also among puts.
///
/// Where a simulated machine has DMA engines (`sim:epiphany-iii`), the rank's own engine moves the
/// data: set up once for a chain, with a little more for each further block. Elsewhere blocks are
/// puts, which are done on return where the target is mapped. Recorded are puts of single rows.
/// @pre `when.target`, if any, belongs to the rank that owns every block's target.
/// @cost a memcpy of each row where targets are mapped.
template <class T>
inline void start_dma(std::span<const dma_descriptor<T>> chain, const counters& when = {},
                      std::source_location site = std::source_location::current()) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                  "selion::start_dma moves bytes: T must be trivially copyable and mutable");
    std::vector<detail::erased_descriptor> erased;
    erased.reserve(chain.size());
    for (const dma_descriptor<T>& each : chain) {
        erased.push_back({each.target.bits(), reinterpret_cast<const std::byte*>(each.source),
                          detail::bytes_of<T>(each.columns), each.rows,
                          detail::bytes_of<T>(each.target_stride),
                          detail::bytes_of<T>(each.source_stride)});
    }
    detail::start_dma(erased, when, site);
}
/// The same of descriptors in a vector, an array or any other span.
template <detail::listed_memory Chain>
inline void start_dma(const Chain& chain, const counters& when = {},
                      std::source_location site = std::source_location::current()) {
    selion::start_dma(std::span<const detail::value_of<Chain>>(chain), when, site);
}
/// A chain of one block.
template <class T>
inline void start_dma(const dma_descriptor<T>& block, const counters& when = {},
                      std::source_location site = std::source_location::current()) {
    start_dma(std::span<const dma_descriptor<T>>(&block, 1), when, site);
}

}  // namespace selion
