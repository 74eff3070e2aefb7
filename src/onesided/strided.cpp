// SPDX-License-Identifier: Apache-2.0
#include "selion/strided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "onesided/message_state.hpp"
#include "onesided/operation_meter.hpp"
#include "selion/detail/caller.hpp"
#include "selion/detail/global_address.hpp"
#include "selion/detail/slow_path.hpp"
#include "selion/expect.hpp"
#include "selion/split_phase.hpp"

namespace selion::detail {
namespace {

constexpr std::size_t most_dimensions = 16;

/// Goes through the rows of a block, the innermost dimension fastest.
class row_walk {
public:
    row_walk(const block_shape& shape, std::source_location site)
        : outer_(shape.outer), element_bytes_(static_cast<std::ptrdiff_t>(shape.element_bytes)) {
        SELION_EXPECT_AT(outer_.size() <= most_dimensions, site,
                         fmt::format("a block of {} dimensions; at most {} are possible",
                                     outer_.size(), most_dimensions));
        bool has_all = true;
        for (const stride& dimension : outer_) {
            has_all &= !__builtin_mul_overflow(rows_, dimension.count, &rows_);
        }
        // A count of 0 makes it a block of no rows, whatever the others are.
        const bool is_empty = std::ranges::any_of(
            outer_, [](const stride& dimension) { return dimension.count == 0; });
        if (is_empty) rows_ = 0;
        SELION_EXPECT_AT(has_all || is_empty, site, std::string("a block of more than 2^64 rows"));
    }

    std::size_t rows_left() const { return rows_; }
    /// Bytes from the block's first element, on each side.
    std::ptrdiff_t target() const { return target_; }
    std::ptrdiff_t source() const { return source_; }

    void next() {
        --rows_;
        for (std::size_t d = 0; d < outer_.size(); ++d) {
            const stride& dimension = outer_[d];
            target_ += dimension.target * element_bytes_;
            source_ += dimension.source * element_bytes_;
            if (++at_[d] != dimension.count) return;
            const auto count = static_cast<std::ptrdiff_t>(dimension.count);
            target_ -= dimension.target * count * element_bytes_;
            source_ -= dimension.source * count * element_bytes_;
            at_[d] = 0;
        }
    }

private:
    std::span<const stride> outer_;
    std::ptrdiff_t element_bytes_;
    std::size_t rows_ = 1;
    std::ptrdiff_t target_ = 0;
    std::ptrdiff_t source_ = 0;
    std::array<std::size_t, most_dimensions> at_{};
};

std::uint64_t moved(std::uint64_t address, std::ptrdiff_t bytes) {
    return address + static_cast<std::uint64_t>(bytes);
}

put_request counted_put(std::uint64_t target, const void* source, std::size_t bytes,
                        const counters& when) {
    return {target, source, bytes, when.target.bits(), {1, true}, when.origin, when.completion};
}

/// @param is_told the last get of several has a target counter.
get_request counted_get(void* target, std::uint64_t source, std::size_t bytes, const counters& when,
                        bool is_told) {
    return {target,
            source,
            bytes,
            when.target.bits(),
            when.origin,
            when.completion,
            is_told && !when.target};
}

/// Calls `start(place, bytes, when)` for each row of a block. Rows reach a rank in order, so the
/// last one counts for all; of no rows there is one of no bytes.
template <class Start>
void start_rows(const block_shape& shape, const counters& when, std::source_location site,
                Start start) {
    row_walk rows(shape, site);
    if (rows.rows_left() == 0) return start(rows, 0, when);
    for (; rows.rows_left() > 1; rows.next()) start(rows, shape.row_bytes, counters{});
    start(rows, shape.row_bytes, when);
}

/// Bytes of a block in memory that it lies in, from the lowest one on.
struct extent {
    std::ptrdiff_t lowest = 0;  ///< from the block's first element
    std::size_t bytes = 0;
};

/// @param step of a dimension, on the side that is wanted. @return nothing: more than can be.
std::optional<extent> extent_of(const block_shape& shape, std::ptrdiff_t stride::*step) {
    std::ptrdiff_t lowest = 0;
    std::ptrdiff_t highest = 0;
    for (const stride& dimension : shape.outer) {
        std::ptrdiff_t last = 0;
        if (__builtin_mul_overflow(dimension.*step, shape.element_bytes, &last) ||
            __builtin_mul_overflow(last, dimension.count - 1, &last) ||
            __builtin_add_overflow(last < 0 ? lowest : highest, last,
                                   last < 0 ? &lowest : &highest)) {
            return std::nullopt;
        }
    }
    std::ptrdiff_t bytes = 0;
    if (__builtin_sub_overflow(highest, lowest, &bytes) ||
        __builtin_add_overflow(bytes, shape.row_bytes, &bytes)) {
        return std::nullopt;
    }
    return extent{lowest, static_cast<std::size_t>(bytes)};
}

/// Where a block of a rank lies that this process maps, if its rows are nothing but copied: nobody
/// records them or keeps copies of such memory, and no death may end them.
/// @return null: each row has to be looked at by itself.
std::byte* block_here(std::uint64_t address, const block_shape& shape, std::ptrdiff_t stride::*step,
                      std::source_location site) {
    const rank_context& context = context_of_caller(site);
    const bool has_rows =
        !shape.outer.empty() && shape.outer.size() <= most_dimensions && shape.row_bytes != 0 &&
        std::ranges::none_of(shape.outer, [](const stride& one) { return one.count == 0; });
    const bool is_plain =
        context.recorder == nullptr && context.deaths == nullptr && context.simulated == nullptr &&
        (context.messages == nullptr || context.messages->check_uncached == nullptr) &&
        segment_of(address) == heap_segment && rank_of(address) < context.ranks;
    std::byte* const place = has_rows && is_plain ? mapped_address(context, address) : nullptr;
    const std::optional<extent> all = place == nullptr ? std::nullopt : extent_of(shape, step);
    if (!all) return nullptr;
    const std::uint64_t offset = address & offset_mask;
    const std::uint64_t first = moved(offset, all->lowest);
    const bool is_within = first <= offset && all->bytes <= context.reserve_bytes &&
                           first <= context.reserve_bytes - all->bytes;
    return is_within ? place : nullptr;
}

/// Rows of a dimension, which are so short that a call for each would take longer than they do.
template <std::size_t Bytes>
void copy_short_rows(std::byte* to, const std::byte* from, const stride& rows,
                     std::ptrdiff_t element_bytes) {
    for (std::size_t i = 0; i < rows.count; ++i) {
        std::memcpy(to, from, Bytes);
        to += rows.target * element_bytes;
        from += rows.source * element_bytes;
    }
}

void copy_rows(std::byte* to, const std::byte* from, const stride& rows, std::size_t row_bytes,
               std::ptrdiff_t element_bytes) {
    switch (row_bytes) {
        case 1: return copy_short_rows<1>(to, from, rows, element_bytes);
        case 2: return copy_short_rows<2>(to, from, rows, element_bytes);
        case 4: return copy_short_rows<4>(to, from, rows, element_bytes);
        case 8: return copy_short_rows<8>(to, from, rows, element_bytes);
        case 16: return copy_short_rows<16>(to, from, rows, element_bytes);
        default: break;
    }
    for (std::size_t i = 0; i < rows.count; ++i) {
        std::memcpy(to, from, row_bytes);
        to += rows.target * element_bytes;
        from += rows.source * element_bytes;
    }
}

/// All rows of a block, whose sides this process maps.
void copy_block(std::byte* to, const std::byte* from, const block_shape& shape,
                std::source_location site) {
    block_shape beyond = shape;
    beyond.outer = shape.outer.subspan(1);
    for (row_walk lines(beyond, site); lines.rows_left() > 0; lines.next()) {
        copy_rows(to + lines.target(), from + lines.source(), shape.outer.front(), shape.row_bytes,
                  static_cast<std::ptrdiff_t>(shape.element_bytes));
    }
}

bool counts_nothing(const counters& when) {
    return when.origin == nullptr && !when.target && when.completion == nullptr;
}

/// A piece of no bytes, at the rank of the target counter if there is one.
erased_piece empty_piece(const counters& when, std::source_location site) {
    const std::uint64_t own = global_address(context_of_caller(site).rank, 0);
    return {when.target ? when.target.bits() : own, nullptr, 0};
}

/// Calls `start(piece, when)` for each piece of a list; the counters as for rows.
template <class Start>
void start_pieces(std::span<const erased_piece> pieces, const counters& when,
                  std::source_location site, Start start) {
    if (pieces.empty()) return start(empty_piece(when, site), when);
    for (const erased_piece& piece : pieces) {
        start(piece, &piece == &pieces.back() ? when : counters{});
    }
}

}  // namespace

void expect_pieces_of_one_rank(std::span<const erased_piece> pieces, std::uint64_t first,
                               std::source_location site) {
    for (const erased_piece& piece : pieces) {
        SELION_EXPECT_AT(is_of_rank_of(piece.there, first), site,
                         fmt::format("a list of pieces: one of them belongs to rank {}, the first "
                                     "one to rank {}; all must belong to one rank",
                                     rank_of(piece.there), rank_of(first)));
    }
}

void put_block(std::uint64_t target, const std::byte* source, const block_shape& shape,
               const counters& when, std::source_location site) {
    if (std::byte* const here = block_here(target, shape, &stride::target, site)) {
        copy_block(here, source, shape, site);
        if (!counts_nothing(when)) start_put(counted_put(target, source, 0, when), site);
        return;
    }
    start_rows(shape, when, site, [&](const row_walk& row, std::size_t bytes, const counters& now) {
        start_put(counted_put(moved(target, row.target()), source + row.source(), bytes, now),
                  site);
    });
}

void get_block(std::byte* target, std::uint64_t source, const block_shape& shape,
               const counters& when, std::source_location site) {
    if (const std::byte* const here = block_here(source, shape, &stride::source, site)) {
        copy_block(target, here, shape, site);
        if (!counts_nothing(when)) start_get(counted_get(target, source, 0, when, false), site);
        return;
    }
    counter all;
    const bool waits = when.origin == nullptr && when.completion == nullptr;
    counters counted = when;
    if (waits) counted.completion = &all;
    start_rows(shape, counted, site,
               [&](const row_walk& row, std::size_t bytes, const counters& now) {
                   start_get(counted_get(target + row.target(), moved(source, row.source()), bytes,
                                         now, static_cast<bool>(when.target)),
                             site);
               });
    if (waits) wait_for_last(all, 1, site);
}

void put_pieces(std::span<const erased_piece> pieces, const counters& when,
                std::source_location site) {
    start_pieces(pieces, when, site, [&](const erased_piece& piece, const counters& now) {
        start_put(counted_put(piece.there, piece.here, piece.bytes, now), site);
    });
}

void get_pieces(std::span<const erased_piece> pieces, const counters& when, bool is_told,
                std::source_location site) {
    start_pieces(pieces, when, site, [&](const erased_piece& piece, const counters& now) {
        start_get(counted_get(piece.here, piece.there, piece.bytes, now, is_told), site);
    });
}

}  // namespace selion::detail
