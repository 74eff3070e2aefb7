// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <vector>

#include <selion/cached.hpp>
#include <selion/cached_reference.hpp>
#include <selion/detail/block_view.hpp>
#include <selion/detail/caller.hpp>
#include <selion/detail/coherent_access.hpp>
#include <selion/detail/export.hpp>
#include <selion/global_ptr.hpp>
#include <selion/world.hpp>

namespace selion {

namespace detail {

SELION_API block_view* make_space(rank_context& context, std::size_t bytes, const cached& how,
                                  std::source_location site);
SELION_API void remove_space(block_view* view, std::source_location site);
/// Of so many elements; more than any memory has where that is no number.
constexpr std::size_t bytes_of(std::size_t count, std::size_t each) {
    std::size_t bytes = 0;
    return __builtin_mul_overflow(count, each, &bytes) ? SIZE_MAX : bytes;
}
/// @return global address of so many bytes of the caller's memory.
SELION_API std::uint64_t take_from_space(block_view* view, std::size_t bytes, std::size_t alignment,
                                         std::string_view name, std::source_location site);

}  // namespace detail

/// Symmetric memory of which ranks keep copies that stay coherent: reads return what was written
/// last, by whichever rank. It is cut into blocks by address, so arrays that lie beside each other
/// in one space may share blocks. A handle is the rank's own, and cannot be sent to another one;
/// copies of it are the same space.
///
/// Accesses of one rank take effect in their order, and all ranks see one order of all accesses
/// (sequential consistency), but for those that are started and not yet awaited, and unless
/// `cached::consistency` says otherwise. Only the rank's
/// own thread may access it. A rank that neither accesses coherent memory nor waits serves nobody;
/// accesses serve others' accesses to coherent memory, and other messages perhaps not: a loop that
/// only reads calls `progress`.
class coherent_space {
public:
    coherent_space() = default;
    coherent_space(const coherent_space&) = default;
    // Not trivial, so that no message can have a handle: on another rank it would lead nowhere.
    // Copies that are made are trivial: loops over copies of an array are slower otherwise.
    coherent_space& operator=(const coherent_space& other) noexcept {
        view_ = other.view_;
        return *this;
    }
    ~coherent_space() = default;
    /// Collective: allocates. Includes a barrier.
    /// @param bytes of every rank for arrays; rounded up to whole blocks.
    /// @pre all ranks pass the same; the checking build compares.
    /// @error bad_argument for a size of blocks that is not possible, out_of_memory: on all ranks.
    coherent_space(const world& all, std::size_t bytes, const cached& how = {},
                   std::source_location site = std::source_location::current())
        : view_(detail::make_space(detail::context_of_caller(site), bytes, how, site)) {
        static_cast<void>(all);
    }

    explicit operator bool() const noexcept { return view_ != nullptr; }

    /// Collective, without waiting: the next `count` elements of every rank's part.
    /// @param name in counts. @error out_of_memory: the space is full.
    template <class T>
    global_ptr<T> take(std::size_t count, std::string_view name = {},
                       std::source_location site = std::source_location::current()) const {
        return global_ptr<T>(detail::take_from_space(view_, detail::bytes_of(count, sizeof(T)),
                                                     alignof(T), name, site));
    }
    /// Collective, without waiting: leaves bytes out, so that what comes next lies elsewhere within
    /// its block.
    void skip(std::size_t bytes,
              std::source_location site = std::source_location::current()) const {
        detail::take_from_space(view_, bytes, 1, {}, site);
    }

    /// An element anywhere in the space; the checking build ends a program whose element is not.
    /// @param where from `take`, of any rank.
    template <class T>
    cached_reference<T> at(global_ptr<T> where,
                           std::source_location site = std::source_location::current()) const {
        if constexpr (SELION_CHECK_LEVEL >= 2) {
            detail::expect_in_space(view_, where.bits(), sizeof(T), site);
        }
        return {view_, where, site};
    }

    /// What the caller has written is in its home's memory on return, and copies that it alone had
    /// are given up: then all may read that memory without the protocol, after a barrier.
    void flush(std::source_location site = std::source_location::current()) const {
        detail::flush_copies(view_, site);
    }
    /// The same, and copies that it has read are given up too: then others may write that memory
    /// without the protocol.
    void invalidate(std::source_location site = std::source_location::current()) const {
        detail::drop_copies(view_, site);
    }

    const cached& how() const { return detail::how_of(*view_); }
    /// Of the caller, since the space was made. @pre `cached::has_statistics`
    access_counts accesses() const { return detail::count_accesses(*view_); }
    /// The same by array and line of the program.
    std::vector<access_line> accesses_by_line() const { return detail::count_by_line(*view_); }
    /// Blocks that were taken from the caller and brought back though what it wanted of them had
    /// not changed, the worst ones first: smaller blocks, or data that lie farther apart, spare
    /// these misses. @pre `cached::has_statistics`
    std::vector<selion::false_sharing> false_sharing(std::size_t most = 20) const {
        return detail::list_false_sharing(*view_, most);
    }
    /// What the caller has done for the protocol.
    cache_counts counts() const { return detail::count_blocks(*view_); }

    detail::block_view* view() const noexcept { return view_; }

private:
    detail::block_view* view_ = nullptr;
};

/// Collective: gives the space's memory back, with all arrays in it. What ranks have written and
/// not flushed goes home first. Waits until all ranks have called it. Handles lead nowhere then: a
/// checking build ends a program that uses one.
inline void deallocate(const world& all, const coherent_space& space,
                       std::source_location site = std::source_location::current()) {
    static_cast<void>(all);
    if (space) detail::remove_space(space.view(), site);
}

}  // namespace selion
