// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "coherence/coherent_part.hpp"
#include "selion/detail/global_address.hpp"

/// Blocks that come before they are wanted.
namespace selion::coherence {

/// How far on the next miss at this home may be; 0: nobody knows.
std::uint64_t coherent_part::stride_to(std::uint64_t block) {
    if (shape_.how.prefetch == prefetch_kind::next) return block_bytes_;
    miss& last = last_misses_[detail::rank_of(block)];
    const std::uint64_t stride = block - last.block;
    const bool is_again = stride == last.stride;
    last = {block, stride};
    return is_again ? stride : 0;
}

/// Of an access that asks for a copy, or waits for one that has been asked for.
void coherent_part::note_prefetch(block_copy& copy, access_kind what) {
    if (what != access_kind::touch) {
        prefetched_used_ += copies_.use(copy) ? 1 : 0;
    } else if (!copy.is_asked_for) {
        ++prefetched_;
    }
}

/// Asks for blocks that may be wanted next, as far as there is room for guesses.
void coherent_part::prefetch_behind(std::uint64_t block, std::source_location site) {
    if (shape_.how.prefetch == prefetch_kind::none || is_prefetching_ || is_own(block)) return;
    const std::uint64_t stride = stride_to(block);
    if (stride == 0) return;
    is_prefetching_ = true;
    block_access one;
    one.kind = access_kind::touch;
    one.bytes = 1;
    one.address = block;
    one.behind = block;
    one.site = site;
    const block_copy none;
    for (std::size_t i = 0; i < shape_.how.prefetch_blocks; ++i) {
        one.address += stride;
        const std::uint64_t offset = (one.address & detail::offset_mask) - shape_.offset;
        const bool is_inside =
            detail::rank_of(one.address) == detail::rank_of(block) && offset < shape_.bytes;
        if (!is_inside) break;
        const copy_store::entry* const known = std::as_const(copies_).find(one.address);
        const block_copy& copy = known == nullptr ? none : known->second;
        const bool is_wanted = copy.state == copy_state::invalid && !copy.is_asked_for;
        if (is_wanted && copies_.has_early_room_for(copy, block)) run_kept(keep(one));
    }
    is_prefetching_ = false;
}

/// Whether a block may be asked for that nobody waits for: there is room, at once.
bool coherent_part::may_touch(std::uint64_t address) const {
    if (is_own(address)) return true;
    const copy_store::entry* const known = copies_.find(block_of(address));
    const block_copy none;
    return copies_.has_early_room_for(known == nullptr ? none : known->second, 0);
}

}  // namespace selion::coherence
