// SPDX-License-Identifier: Apache-2.0
/// The standard operations on the standard types. This file is compiled for speed, once for any
/// processor of the architecture and once for those with wide vectors.
#include <cstdint>
#include <tuple>
#include <utility>

#include "selion/detail/combine_function.hpp"
#include "selion/reduction.hpp"

namespace selion::detail {
namespace {

using types = std::tuple<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                         std::uint32_t, std::int64_t, std::uint64_t, float, double>;
using operations =
    std::tuple<plus_operation, times_operation, minimum_operation, maximum_operation>;
static_assert(std::tuple_size_v<types> == standard_types);
static_assert(std::tuple_size_v<operations> == standard_operations);

/// No element depends on another, also where the result is one of the operands.
template <class T, class Operation>
inline __attribute__((always_inline)) void combine_all(void* result, const void* left,
                                                       const void* right, std::size_t count) {
    T* const into = static_cast<T*>(result);
    const T* const a = static_cast<const T*>(left);
    const T* const b = static_cast<const T*>(right);
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (std::size_t i = 0; i < count; ++i) into[i] = Operation{}(a[i], b[i]);
}

template <class T, class Operation>
void combine_anywhere(const void*, void* result, const void* left, const void* right,
                      std::size_t count) {
    combine_all<T, Operation>(result, left, right, count);
}

#if defined(__x86_64__)
template <class T, class Operation>
__attribute__((target("avx2"))) void combine_wide(const void*, void* result, const void* left,
                                                  const void* right, std::size_t count) {
    combine_all<T, Operation>(result, left, right, count);
}
bool has_wide_vectors() { return __builtin_cpu_supports("avx2") != 0; }
#else
template <class T, class Operation>
constexpr combine_function combine_wide = combine_anywhere<T, Operation>;
bool has_wide_vectors() { return false; }
#endif

struct both_tables {
    combine_table anywhere;
    combine_table wide;
};

template <std::size_t Index>
void fill(both_tables& tables) {
    constexpr std::size_t operation = Index / standard_types;
    constexpr std::size_t type = Index % standard_types;
    using op = std::tuple_element_t<operation, operations>;
    using element = std::tuple_element_t<type, types>;
    tables.anywhere[operation][type] = combine_anywhere<element, op>;
    tables.wide[operation][type] = combine_wide<element, op>;
}

both_tables make_tables() {
    both_tables tables{};
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
        (fill<Index>(tables), ...);
    }(std::make_index_sequence<standard_operations * standard_types>());
    return tables;
}

}  // namespace

const combine_table& standard_combines() {
    static const both_tables tables = make_tables();
    static const combine_table& best = has_wide_vectors() ? tables.wide : tables.anywhere;
    return best;
}

}  // namespace selion::detail
