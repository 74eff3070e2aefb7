// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"

namespace tune {

using enum selion::collective_kind;

namespace {

constexpr std::size_t doubles_of_line = 64 / sizeof(double);

/// A word of each line. Zeros stay zeros, whatever is summed.
void write(std::span<double> given) {
    volatile double* const data = given.data();
    for (std::size_t i = 0; i < given.size(); i += doubles_of_line) data[i] = 0.0;
}

void read(std::span<const double> got) {
    const volatile double* const data = got.data();
    for (std::size_t i = 0; i < got.size(); i += doubles_of_line) static_cast<void>(data[i]);
}

}  // namespace

caller::caller(const selion::team& team, selion::collective_kind what, std::size_t bytes)
    : team_(team), what_(what), block_(bytes / sizeof(double)) {
    const bool has_all = what == reduce_scatter || what == gather || what == all_gather ||
                         what == scatter || what == exchange;
    if (has_all) blocks_.resize(block_.size() * team.size());
    if (what == exchange) more_blocks_.resize(blocks_.size());
}

/// Who is root takes turns, so that nobody can run ahead; not in a reduce, whose sums are made at
/// member 0 anyway.
void caller::call(std::uint64_t turn) {
    const auto root = static_cast<std::uint32_t>(turn % team_.size());
    const share mine = share_of(root);
    write(mine.given);
    carry_out(root);
    read(mine.got);
}

void caller::touch(std::uint64_t turn) {
    const share mine = share_of(static_cast<std::uint32_t>(turn % team_.size()));
    write(mine.given);
    read(mine.got);
}

caller::share caller::share_of(std::uint32_t root) {
    const std::span block(block_);
    const std::span blocks(blocks_);
    const bool is_root = team_.rank() == root;
    switch (what_) {
        case barrier: return {};
        case broadcast: return is_root ? share{block, {}} : share{{}, block};
        case reduce: return team_.rank() == 0 ? share{block, block} : share{block, {}};
        case all_reduce:
        case scan:
        case exscan: return {block, block};
        case reduce_scatter: return {blocks, block};
        case gather: return is_root ? share{block, blocks} : share{block, {}};
        case all_gather: return {block, blocks};
        case scatter: return is_root ? share{blocks, block} : share{{}, block};
        case exchange: break;
    }
    return {blocks, more_blocks_};
}

void caller::carry_out(std::uint32_t root) {
    const std::span block(block_);
    const std::span blocks(blocks_);
    switch (what_) {
        case barrier: return team_.barrier();
        case broadcast: return team_.broadcast(block, root);
        case reduce: return team_.reduce(block, selion::plus, 0u);
        case all_reduce: return team_.all_reduce(block, selion::plus);
        case reduce_scatter: return team_.reduce_scatter(blocks, block, selion::plus);
        case scan: return team_.scan(block, selion::plus);
        case exscan: return team_.exscan(block, selion::plus, 0.0);
        case gather: return team_.gather(block, blocks, root);
        case all_gather: return team_.all_gather(block, blocks);
        case scatter: return team_.scatter(blocks, block, root);
        case exchange: break;
    }
    team_.exchange(blocks, std::span(more_blocks_));
}

}  // namespace tune
