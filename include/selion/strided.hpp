// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <source_location>
#include <span>
#include <type_traits>

#include <selion/counter.hpp>
#include <selion/detail/element_memory.hpp>
#include <selion/detail/export.hpp>
#include <selion/global_ptr.hpp>

/// Puts and gets of parts that do not lie one behind the other: rows of a block of any number of
/// dimensions, or any list of pieces. Each is one operation: its counters count once, when all of
/// it is as far.
namespace selion {

/// One dimension of a block: how often what is inside it repeats, and how far apart, in elements of
/// each side. Distances may be negative, and 0 for a source that is read again and again.
struct stride {
    std::size_t count;
    std::ptrdiff_t target;
    std::ptrdiff_t source;
};

/// A piece of memory here and its place there.
template <class T>
struct put_piece {
    global_ptr<T> target;
    std::span<const T> source;
};
template <class T>
struct get_piece {
    std::span<T> target;
    global_ptr<const T> source;
};

namespace detail {

/// Rows of `row_bytes`, and the dimensions outside them, the innermost first; distances in bytes.
struct block_shape {
    std::size_t row_bytes;
    std::span<const stride> outer;
    std::size_t element_bytes;
};
struct erased_piece {
    std::uint64_t there;
    std::byte* here;
    std::size_t bytes;
};

SELION_API void put_block(std::uint64_t target, const std::byte* source, const block_shape& shape,
                          const counters& when, std::source_location site);
SELION_API void get_block(std::byte* target, std::uint64_t source, const block_shape& shape,
                          const counters& when, std::source_location site);
SELION_API void put_pieces(std::span<const erased_piece> pieces, const counters& when,
                           std::source_location site);
/// @param is_told these pieces, or later ones of the list, have a target counter.
SELION_API void get_pieces(std::span<const erased_piece> pieces, const counters& when, bool is_told,
                           std::source_location site);

SELION_API void expect_pieces_of_one_rank(std::span<const erased_piece> pieces, std::uint64_t first,
                                          std::source_location site);
/// The bytes of a row; more than any memory has where that is no number.
constexpr std::size_t row_bytes(std::size_t elements, std::size_t each) {
    std::size_t bytes = 0;
    return __builtin_mul_overflow(elements, each, &bytes) ? SIZE_MAX : bytes;
}

/// Pieces without their type, some at a time: no list is too long for the stack.
template <class Piece, class Erase, class Send>
void in_batches(std::span<const Piece> pieces, const counters& when, std::source_location site,
                Erase erase, Send send) {
    constexpr std::size_t most = 64;
    erased_piece batch[most];
    const std::uint64_t first = pieces.empty() ? 0 : erase(pieces.front()).there;
    do {
        const std::size_t count = pieces.size() < most ? pieces.size() : most;
        for (std::size_t i = 0; i < count; ++i) batch[i] = erase(pieces[i]);
        pieces = pieces.subspan(count);
        const std::span<const erased_piece> some(batch, count);
        if (!some.empty()) expect_pieces_of_one_rank(some, first, site);
        send(some, pieces.empty() ? when : counters{});
    } while (!pieces.empty());
}

}  // namespace detail

/// Writes a block: rows of `row` consecutive elements, repeated as `outer` says, the innermost
/// dimension first.
/// @param source of its first element. Elements may be reused as for `put` with counters: when the
/// origin counter has counted, and without one on return.
/// @pre the block lies within one rank's memory; rows of the target do not overlap.
/// @cost a copy where the target is mapped; else a message for each row.
template <class T>
void put_strided(global_ptr<T> target, const std::type_identity_t<T>* source, std::size_t row,
                 std::span<const stride> outer, const counters& when = {},
                 std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::put moves bytes: T must be trivially copyable");
    static_assert(!std::is_const_v<T>, "selion::put needs a pointer to mutable elements");
    detail::put_block(target.bits(), reinterpret_cast<const std::byte*>(source),
                      {detail::row_bytes(row, sizeof(T)), outer, sizeof(T)}, when, site);
}

/// Reads a block. Without an origin or completion counter it is there on return.
template <class T>
void get_strided(std::remove_const_t<T>* target, global_ptr<T> source, std::size_t row,
                 std::span<const stride> outer, const counters& when = {},
                 std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::get moves bytes: T must be trivially copyable");
    detail::get_block(reinterpret_cast<std::byte*>(target), source.bits(),
                      {detail::row_bytes(row, sizeof(T)), outer, sizeof(T)}, when, site);
}

/// Writes a list of pieces to one rank, in order. Completion as for `put_strided`.
/// @pre all targets belong to one rank, and to that of the target counter.
template <class T>
void put_vector(std::span<const put_piece<T>> pieces, const counters& when = {},
                std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::put moves bytes: T must be trivially copyable");
    static_assert(!std::is_const_v<T>, "selion::put needs a pointer to mutable elements");
    detail::in_batches(
        pieces, when, site,
        [](const put_piece<T>& piece) {
            auto* const here = const_cast<T*>(piece.source.data());
            return detail::erased_piece{piece.target.bits(), reinterpret_cast<std::byte*>(here),
                                        piece.source.size_bytes()};
        },
        [site](std::span<const detail::erased_piece> batch, const counters& now) {
            detail::put_pieces(batch, now, site);
        });
}

/// The same of pieces in a vector, an array or any other span.
template <detail::listed_memory Pieces>
void put_vector(const Pieces& pieces, const counters& when = {},
                std::source_location site = std::source_location::current()) {
    selion::put_vector(std::span<const detail::value_of<Pieces>>(pieces), when, site);
}

/// Reads a list of pieces of one rank. Completion as for `get_strided`.
template <class T>
void get_vector(std::span<const get_piece<T>> pieces, const counters& when = {},
                std::source_location site = std::source_location::current()) {
    static_assert(transferable<T>, "selion::get moves bytes: T must be trivially copyable");
    counter all;
    const bool waits = when.origin == nullptr && when.completion == nullptr;
    counters counted = when;
    if (waits) counted.completion = &all;
    detail::in_batches(
        pieces, counted, site,
        [](const get_piece<T>& piece) {
            return detail::erased_piece{piece.source.bits(),
                                        reinterpret_cast<std::byte*>(piece.target.data()),
                                        piece.target.size_bytes()};
        },
        [&](std::span<const detail::erased_piece> batch, const counters& now) {
            detail::get_pieces(batch, now, static_cast<bool>(when.target), site);
        });
    if (waits) detail::wait_for_last(all, 1, site);
}
template <detail::listed_memory Pieces>
void get_vector(const Pieces& pieces, const counters& when = {},
                std::source_location site = std::source_location::current()) {
    selion::get_vector(std::span<const detail::value_of<Pieces>>(pieces), when, site);
}

}  // namespace selion
