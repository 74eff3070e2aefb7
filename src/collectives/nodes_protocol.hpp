// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

/// The steps of nodes.md that members of a node take in the memory that they share. `Memory`
/// reaches the words: a load that waits acquires, a store releases, an addition does both. Also run
/// by a model checker.
namespace selion::collectives::nodes_protocol {

inline constexpr std::uint64_t shelves = 2;

/// How far a member has come.
struct progress {
    std::uint32_t others = 0;                      ///< members of the node beside it
    std::uint64_t arrivals = 0;                    ///< of all others, up to now
    std::uint64_t releases = 0;                    ///< up to now
    std::array<std::uint64_t, shelves> to_take{};  ///< by others, of what lay on its shelves
};

/// Of who does not lead.
template <class Memory>
void arrive(Memory& memory, progress& own) {
    own.arrivals += own.others;
    memory.add_arrival(own.arrivals);
}

/// Of the leader: until all others have arrived once more.
template <class Memory>
void await_arrivals(Memory& memory, progress& own) {
    own.arrivals += own.others;
    memory.await_arrivals(own.arrivals);
}

/// Others may read what `fill(shelf)` puts there once this returns, until they have taken it.
template <class Memory, class Fill>
void show(Memory& memory, progress& own, const Fill& fill) {
    const std::uint64_t shelf = (own.releases + 1) % shelves;
    memory.await_taken(shelf, own.to_take[shelf]);
    fill(shelf);
    own.to_take[shelf] += own.others;
    memory.release(++own.releases);
}

/// @param read what member `from` shows, given its shelf.
template <class Memory, class Read>
void take(Memory& memory, progress& own, std::uint32_t from, const Read& read) {
    memory.await_release(++own.releases);
    const std::uint64_t shelf = own.releases % shelves;
    read(shelf);
    memory.add_taken(from, shelf);
}

/// Until nothing of this member is read any more.
template <class Memory>
void await_takers(Memory& memory, const progress& own) {
    for (std::uint64_t shelf = 0; shelf < shelves; ++shelf) {
        memory.await_taken(shelf, own.to_take[shelf]);
    }
}

}  // namespace selion::collectives::nodes_protocol
