// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <type_traits>

#include <selion/collective_choice.hpp>
#include <selion/detail/export.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/detail/team_view.hpp>
#include <selion/reduction.hpp>
#include <selion/schedule.hpp>

namespace selion::detail {

/// A collective of blocks, without its types. Which of `source` and `target` a rank has, and of how
/// many blocks, depends on the collective: see `team`. A broadcast has its one block at `target`,
/// also at the root; an all-reduce may have one block at both.
struct block_call {
    collective_kind what = collective_kind::barrier;
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
    std::size_t count = 0;  ///< elements of a block
    std::size_t element_bytes = 1;
    const reduction* how = nullptr;  ///< null: blocks are moved
    std::uint32_t root = 0;
    /// Of an exscan: the element that member 0 gets in all places, while the call lasts.
    const std::byte* first = nullptr;
    /// Carried out in this way instead of as the team thinks best. A schedule that does not keep
    /// the order of the ranks needs an operation that commutes.
    const collective_choice* chosen = nullptr;

    /// Where blocks differ in length: the elements before each block of the source (scatter,
    /// exchange) or the target (gather, all-gather, exchange), and before the end. Else null.
    const std::size_t* source_starts = nullptr;
    const std::size_t* target_starts = nullptr;
    /// Elements of the longest block of any member; 0: all have `count`.
    std::size_t most = 0;
    /// Of the elements that are moved; compared across ranks when checking. 0: of any.
    std::size_t type_hash = 0;

    std::size_t block_bytes() const { return count * element_bytes; }
    std::size_t most_bytes() const { return (most == 0 ? count : most) * element_bytes; }
    std::size_t source_start(std::size_t block) const { return start_in(source_starts, block); }
    std::size_t source_bytes(std::size_t block) const {
        return source_start(block + 1) - source_start(block);
    }
    std::size_t target_start(std::size_t block) const { return start_in(target_starts, block); }
    std::size_t target_bytes(std::size_t block) const {
        return target_start(block + 1) - target_start(block);
    }

private:
    std::size_t start_in(const std::size_t* starts, std::size_t block) const {
        return (starts == nullptr ? block * count : starts[block]) * element_bytes;
    }
};
SELION_API void run_block_call(const team_view& team, const block_call& call,
                               std::source_location site);

/// Bytes may be anything.
template <class T>
consteval std::size_t moved_type() {
    return std::is_same_v<T, std::byte> ? 0 : type_hash<T>();
}

template <class T>
block_call moving(collective_kind what, const T* source, T* target, std::size_t count,
                  std::uint32_t root) {
    return {.what = what,
            .source = reinterpret_cast<const std::byte*>(source),
            .target = reinterpret_cast<std::byte*>(target),
            .count = count,
            .element_bytes = sizeof(T),
            .root = root,
            .type_hash = moved_type<T>()};
}
/// A blocking broadcast, of bytes: members may show the same ones as elements of different sizes.
template <class T>
block_call broadcasting(std::span<T> data, std::uint32_t root) {
    auto* const bytes = reinterpret_cast<std::byte*>(data.data());
    return {.what = collective_kind::broadcast,
            .source = bytes,
            .target = bytes,
            .count = data.size_bytes(),
            .root = root,
            .type_hash = moved_type<T>()};
}
/// @param how lives until the call is done.
template <class T>
block_call reducing(collective_kind what, std::span<const std::type_identity_t<T>> source,
                    T* target, const reduction& how, std::uint32_t root) {
    return {what,
            reinterpret_cast<const std::byte*>(source.data()),
            reinterpret_cast<std::byte*>(target),
            source.size(),
            sizeof(T),
            &how,
            root};
}
/// In place. @param first lives until the call is done.
template <class T>
block_call exscanning(std::span<T> data, const reduction& how, const T& first) {
    block_call call = reducing(collective_kind::exscan, data, data.data(), how, 0);
    call.first = reinterpret_cast<const std::byte*>(&first);
    return call;
}

}  // namespace selion::detail
