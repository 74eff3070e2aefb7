// SPDX-License-Identifier: Apache-2.0
#include "selion/strided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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
    start_rows(shape, when, site, [&](const row_walk& row, std::size_t bytes, const counters& now) {
        start_put(counted_put(moved(target, row.target()), source + row.source(), bytes, now),
                  site);
    });
}

void get_block(std::byte* target, std::uint64_t source, const block_shape& shape,
               const counters& when, std::source_location site) {
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
