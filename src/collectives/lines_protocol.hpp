// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

/// The steps of lines.md that decide when a line may be written and what is told of it. `Memory`
/// reaches the words: a load that waits acquires, a store releases. Also run by a model checker.
namespace selion::collectives::lines_protocol {

/// What a member knows of the turns of a board.
struct board_turn {
    std::uint64_t turn = 0;
    std::uint64_t safe = 0;  ///< all members have finished it, as far as known
};

/// Before the own line of the turn is written: waits until all have finished the turn that it was
/// shown in before. @param shown that turn; becomes this one.
template <class Memory>
void await_free_line(Memory& memory, board_turn& own, std::uint64_t& shown) {
    const std::uint64_t before = std::exchange(shown, own.turn);
    if (before <= own.safe) return;
    std::uint64_t least = own.turn;
    for (std::uint32_t member = 0; member < memory.count(); ++member) {
        if (member == memory.own()) continue;
        least = std::min(least, memory.await_finished(member, before));
    }
    own.safe = least;
}

/// Whoever has everybody's line of a turn knows that all have finished the one before; so where all
/// read all nothing has to be told.
template <class Memory>
void end_turn(Memory& memory, board_turn& own, bool all_read_all) {
    if (all_read_all) {
        own.safe = std::max(own.safe, own.turn - 1);
    } else {
        memory.tell_finished(own.turn);
    }
}

/// The messages between a member and another.
struct pair_counts {
    std::uint64_t sent = 0;
    std::uint64_t freed = 0;  ///< of those, how many have been taken, as far as known
    std::uint64_t received = 0;
    std::uint64_t told = 0;  ///< of those, how many the other knows of
};

/// Waits until the line of the next message is free. @param lines of a pair.
/// @return its number.
template <class Memory>
std::uint64_t next_to_send(Memory& memory, pair_counts& pair, std::uint64_t lines) {
    const std::uint64_t number = ++pair.sent;
    if (number > pair.freed + lines) pair.freed = memory.await_taken(number - lines);
    return number;
}

/// The message received last has been read. @param between messages for one word to the sender.
template <class Memory>
void release(Memory& memory, pair_counts& pair, std::uint64_t between) {
    if (pair.received - pair.told < between) return;
    pair.told = pair.received;
    memory.tell_taken(pair.told);
}

}  // namespace selion::collectives::lines_protocol
