// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_board.hpp"

#include <algorithm>

#include "machine/machine.hpp"
#include "machine/simulated_memory.hpp"
#include "onesided/waiting.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::collectives {
namespace {

/// Takes a line from other processors' caches before it is needed: then the number that is stored
/// there can be fetched at once.
void prepare_to_write([[maybe_unused]] numbered_line& line) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(line.number));
#else
    __builtin_prefetch(&line, 1);
#endif
}

}  // namespace

team_board::team_board(detail::rank_context& context, const team_members& members)
    : context_(context),
      members_(members),
      own_(members.block(members.own())),
      finished_(members.are_mapped() ? members.count() : 0) {}

std::byte* team_board::own_line() {
    if (turn_ > safe_turn_ + board_turns) safe_turn_ = finished_by_all();
    return own_.board[turn_ % board_turns].bytes;
}

/// Waits until all have finished the turn whose line is to be written again.
std::uint64_t team_board::finished_by_all() {
    finished_[members_.own()] = turn_;
    const std::uint64_t needed = turn_ - board_turns;
    for (std::uint32_t member = 0; member < members_.count(); ++member) {
        if (finished_[member] >= needed) continue;
        detail::shared_word& word = members_.block(member).board_finished.word;
        detail::await_word(context_, {word, needed, machine::wait_reason::collective});
        finished_[member] = detail::word_load(word);
    }
    return *std::ranges::min_element(finished_);
}

void team_board::show(std::size_t bytes) {
    numbered_line& line = own_.board[turn_ % board_turns];
    machine::announce_write(context_, line.bytes, bytes);
    machine::word_store(context_, line.number, turn_);
}

const std::byte* team_board::line_of(std::uint32_t member, std::size_t bytes) {
    numbered_line& line = members_.block(member).board[turn_ % board_turns];
    if (member != members_.own()) {
        detail::await_word(context_, {line.number, turn_, machine::wait_reason::collective});
        machine::announce_read(context_, line.bytes, bytes);
    }
    return line.bytes;
}

/// Whoever has everybody's line of a turn knows that all have finished the one before; so the turn
/// itself need not be told.
void team_board::end_turn(bool has_seen_all) {
    prepare_to_write(own_.board[(turn_ + 1) % board_turns]);
    if (has_seen_all) {
        safe_turn_ = std::max(safe_turn_, turn_ - 1);
    } else {
        machine::word_store(context_, own_.board_finished.word, turn_);
    }
}

}  // namespace selion::collectives
