// SPDX-License-Identifier: Apache-2.0
#include "selion/detail/block_notices.hpp"

#include <algorithm>
#include <cstring>

namespace selion::detail {

struct block_notices::lengths {
    std::size_t count;
    std::size_t longest;
};

block_notices::block_notices(std::uint32_t members, std::uint32_t given, std::size_t element_bytes)
    : element_bytes_(element_bytes),
      room_(members <= most_members ? short_bytes : 0),
      step_(sizeof(lengths) + room_),
      members_(members),
      given_(given * step_),
      come_(members * step_) {}

void block_notices::give(std::uint32_t which, const void* block, std::size_t count,
                         std::size_t longest) {
    std::byte* const to = given_.data() + which * step_;
    const lengths both{count, longest};
    std::memcpy(to, &both, sizeof both);
    const std::size_t bytes = count * element_bytes_;
    if (bytes != 0 && bytes <= room_) std::memcpy(to + sizeof both, block, bytes);
}

block_call block_notices::moving(collective_kind what, std::size_t type_hash) {
    return {.what = what,
            .source = given_.data(),
            .target = come_.data(),
            .count = 1,
            .element_bytes = step_,
            .type_hash = type_hash};
}

block_notices::lengths block_notices::lengths_of(std::uint32_t member) const {
    lengths both;
    std::memcpy(&both, come_.data() + member * step_, sizeof both);
    return both;
}

std::vector<std::size_t> block_notices::starts() const {
    std::vector<std::size_t> all{0};
    all.reserve(members_ + 1);
    for (std::uint32_t member = 0; member < members_; ++member) {
        all.push_back(all.back() + lengths_of(member).count);
    }
    return all;
}

std::size_t block_notices::most() const {
    std::size_t most = 0;
    for (std::uint32_t member = 0; member < members_; ++member) {
        most = std::max(most, lengths_of(member).longest);
    }
    return most;
}

void block_notices::copy_blocks(void* to) const {
    auto* place = static_cast<std::byte*>(to);
    for (std::uint32_t member = 0; member < members_; ++member) {
        const std::size_t bytes = lengths_of(member).count * element_bytes_;
        if (bytes == 0) continue;
        std::memcpy(place, come_.data() + member * step_ + sizeof(lengths), bytes);
        place += bytes;
    }
}

}  // namespace selion::detail
