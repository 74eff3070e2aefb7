// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <source_location>

#include <selion/detail/caller.hpp>
#include <selion/detail/export.hpp>
#include <selion/global_ptr.hpp>
#include <selion/signal.hpp>
#include <selion/world.hpp>

/// Symmetric memory: every rank owns a heap that all ranks can address. It grows up to the range
/// reserved by SELION_HEAP. A request that does not fit throws `error` with `out_of_memory`, on all
/// ranks alike, and says what is used, free and requested.
namespace selion {

namespace detail {

struct allocation_request {
    std::size_t count;
    std::size_t element_bytes;
    std::size_t alignment;
};

SELION_API std::uint64_t allocate_symmetric(rank_context& context,
                                            const allocation_request& request,
                                            std::source_location site);
SELION_API void deallocate_symmetric(rank_context& context, std::uint64_t bits,
                                     std::source_location site);
SELION_API std::uint64_t allocate_own(rank_context& context, const allocation_request& request,
                                      std::source_location site);
SELION_API void deallocate_own(rank_context& context, std::uint64_t bits,
                               std::source_location site);

/// Zeroed bytes are a valid object: what the heap hands out.
template <class T>
concept allocatable = transferable<T> || std::is_trivially_destructible_v<T>;

}  // namespace detail

/// Collective: every rank gets `count` elements at the same offset, zeroed. Includes a barrier.
/// @param alignment power of two, in bytes, at most 4 KiB; default: that of T, at least 16.
/// @return pointer to the caller's own part; `.on(rank)` gives another rank's. Of zeroed memory a
/// `global_ptr` is not null: set those that are to be.
/// @error out_of_memory
/// @pre all ranks pass the same count and alignment.
template <detail::allocatable T>
[[nodiscard]] global_ptr<T> allocate(const world& all, std::size_t count,
                                     std::size_t alignment = alignof(T),
                                     std::source_location site = std::source_location::current()) {
    static_cast<void>(all);
    return global_ptr<T>(detail::allocate_symmetric(detail::context_of_caller(site),
                                                    {count, sizeof(T), alignment}, site));
}

/// Collective: gives back what `allocate` returned. Waits until all ranks have called it.
/// A null pointer does nothing.
template <class T>
void deallocate(const world& all, global_ptr<T> pointer,
                std::source_location site = std::source_location::current()) {
    static_cast<void>(all);
    detail::deallocate_symmetric(detail::context_of_caller(site), pointer.bits(), site);
}

/// Not collective: `count` zeroed elements of the caller's heap, which all ranks can address once
/// they know the pointer. @error out_of_memory
template <detail::allocatable T>
[[nodiscard]] global_ptr<T> allocate_local(
    const world& all, std::size_t count, std::size_t alignment = alignof(T),
    std::source_location site = std::source_location::current()) {
    static_cast<void>(all);
    return global_ptr<T>(
        detail::allocate_own(detail::context_of_caller(site), {count, sizeof(T), alignment}, site));
}

/// Gives back what `allocate_local` returned to this rank. A null pointer does nothing.
/// @pre the caller allocated it, and no rank uses it any more.
template <class T>
void deallocate_local(const world& all, global_ptr<T> pointer,
                      std::source_location site = std::source_location::current()) {
    static_cast<void>(all);
    detail::deallocate_own(detail::context_of_caller(site), pointer.bits(), site);
}

}  // namespace selion
