// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// How several parties have one thing done by one of them at a time, without waiting for each
/// other. See started.md. `Count` has `add`, which releases, `current`, which acquires, and
/// `exchange_if`, which releases and, where it fails, acquires. Also run by a model checker.
namespace selion::collectives::movers {

/// Calls `move` now, unless somebody is in it: then that one calls it once more.
template <class Count, class Move>
void move_or_leave(Count& count, const Move& move) {
    if (count.add(1) != 0) return;
    std::uint64_t seen = 1;
    do {
        seen = count.current();
        move();
    } while (!count.exchange_if(seen, 0));
}

}  // namespace selion::collectives::movers
