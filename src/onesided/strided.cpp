// SPDX-License-Identifier: Apache-2.0
#include "selion/strided.hpp"

#include <fmt/format.h>

#include <array>

#include "onesided/caller.hpp"
#include "onesided/operation_meter.hpp"
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
        for (const stride& dimension : outer_) rows_ *= dimension.count;
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

put_request last_put(std::uint64_t target, const void* source, std::size_t bytes,
                     const counters& when) {
    return {target, source, bytes, when.target.bits(), {1, true}, when.origin, when.completion};
}

get_request last_get(void* target, std::uint64_t source, std::size_t bytes, const counters& when) {
    return {target, source, bytes, when.target.bits(), when.origin, when.completion};
}

}  // namespace

/// Rows reach a rank in order, so the last one counts for all.
void put_block(std::uint64_t target, const std::byte* source, const block_shape& shape,
               const counters& when, std::source_location site) {
    row_walk rows(shape, site);
    if (rows.rows_left() == 0) return start_put(last_put(target, source, 0, when), site);
    for (; rows.rows_left() > 1; rows.next()) {
        start_put({moved(target, rows.target()), source + rows.source(), shape.row_bytes}, site);
    }
    start_put(last_put(moved(target, rows.target()), source + rows.source(), shape.row_bytes, when),
              site);
}

void get_block(std::byte* target, std::uint64_t source, const block_shape& shape,
               const counters& when, std::source_location site) {
    counter all;
    const bool waits = when.origin == nullptr && when.completion == nullptr;
    counters counted = when;
    if (waits) counted.completion = &all;
    row_walk rows(shape, site);
    if (rows.rows_left() == 0) {
        start_get(last_get(target, source, 0, counted), site);
    } else {
        for (; rows.rows_left() > 1; rows.next()) {
            start_get({target + rows.target(), moved(source, rows.source()), shape.row_bytes},
                      site);
        }
        start_get(last_get(target + rows.target(), moved(source, rows.source()), shape.row_bytes,
                           counted),
                  site);
    }
    if (waits) all.wait(1, site);
}

void put_pieces(std::span<const erased_piece> pieces, const counters& when,
                std::source_location site) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const erased_piece& piece = pieces[i];
        SELION_EXPECT_AT(is_of_rank_of(piece.there, pieces.front().there), site,
                         fmt::format("put_vector: a piece goes to rank {}, the first one to rank "
                                     "{}; all must go to one rank",
                                     rank_of(piece.there), rank_of(pieces.front().there)));
        const bool is_last = i + 1 == pieces.size();
        start_put(last_put(piece.there, piece.here, piece.bytes, is_last ? when : counters{}),
                  site);
    }
    if (!pieces.empty()) return;
    rank_context& context = context_of_caller(site);
    count_here(context, when.origin, site);
    count_here(context, when.completion, site);
}

void get_pieces(std::span<const erased_piece> pieces, const counters& when,
                std::source_location site) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const erased_piece& piece = pieces[i];
        SELION_EXPECT_AT(is_of_rank_of(piece.there, pieces.front().there), site,
                         fmt::format("get_vector: a piece comes from rank {}, the first one from "
                                     "rank {}; all must come from one rank",
                                     rank_of(piece.there), rank_of(pieces.front().there)));
        const bool is_last = i + 1 == pieces.size();
        start_get(last_get(piece.here, piece.there, piece.bytes, is_last ? when : counters{}),
                  site);
    }
    if (!pieces.empty()) return;
    rank_context& context = context_of_caller(site);
    count_here(context, when.origin, site);
    count_here(context, when.completion, site);
}

}  // namespace selion::detail
