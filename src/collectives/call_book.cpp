// SPDX-License-Identifier: Apache-2.0
#include "collectives/call_book.hpp"

namespace selion::collectives {

auto call_book::note(const place& where, const entry& mine, std::uint32_t members) -> entry {
    const auto found = pages_.try_emplace(where, page{mine, 0}).first;
    const entry first = found->second.first;
    if (++found->second.members == members) pages_.erase(found);
    return first;
}

}  // namespace selion::collectives
