// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>

#include <selion/block_collectives.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/global_ptr.hpp>
#include <selion/rank.hpp>
#include <selion/reduction.hpp>

namespace selion {

class rank_scope;

namespace detail {
SELION_API void barrier(rank_context& context, std::source_location site);
SELION_API void sync(rank_context& context, std::source_location site);
SELION_API void broadcast(rank_context& context, std::span<std::byte> data, team_rank root,
                          std::source_location site);
SELION_API void all_reduce(rank_context& context, void* data, std::size_t count,
                           const reduction& how, std::source_location site);
}  // namespace detail

/// A group of ranks that calls collectives together. Every member calls the same collectives in the
/// same order; each returns when this rank's part is done and its data may be used.
class team : public block_collectives {
public:
    explicit team(detail::rank_context& context) noexcept : block_collectives(context) {}

    /// Waits for all members; includes `quiet()`: puts that any member made before are visible to
    /// every member after.
    void barrier(std::source_location site = std::source_location::current()) const {
        detail::barrier(context(), site);
    }

    /// Waits for all members without completing their outstanding one-sided operations.
    void sync(std::source_location site = std::source_location::current()) const {
        detail::sync(context(), site);
    }

    /// Every member returns the value that `root` passed.
    /// @param root a member, 0 .. size() - 1.
    template <transferable T>
    [[nodiscard]] T broadcast(T value, team_rank root,
                              std::source_location site = std::source_location::current()) const {
        detail::broadcast(context(), std::as_writable_bytes(std::span(&value, 1)), root, site);
        return value;
    }

    /// Fills every member's `data` with that of `root`. All members pass equally many elements.
    template <transferable T, std::size_t Extent>
    void broadcast(std::span<T, Extent> data, team_rank root,
                   std::source_location site = std::source_location::current()) const {
        detail::broadcast(context(), std::as_writable_bytes(data), root, site);
    }

    /// Combines one value of every member, in the order of the ranks and in the association that
    /// selion/reduction.hpp tells; all return the result, bit for bit the same, on every machine.
    /// @cost where ranks map each other: one barrier; else 2 (size - 1) messages in all for up to
    /// 48 bytes, each member sending and receiving at most 2 log2(size).
    template <transferable T, class Operation>
    [[nodiscard]] T all_reduce(T value, const Operation& operation,
                               std::source_location site = std::source_location::current()) const {
        detail::all_reduce(context(), &value, 1, detail::erase_reduction<T>(operation), site);
        return value;
    }

    /// Combines element by element, in place. All members pass equally many elements.
    template <transferable T, std::size_t Extent, class Operation>
    void all_reduce(std::span<T, Extent> data, const Operation& operation,
                    std::source_location site = std::source_location::current()) const {
        detail::all_reduce(context(), data.data(), data.size(),
                           detail::erase_reduction<T>(operation), site);
    }

private:
    friend class rank_scope;
};

}  // namespace selion
