// SPDX-License-Identifier: Apache-2.0
#include "collectives/team_board.hpp"

#include <algorithm>
#include <cstring>

#include "collectives/call_shape.hpp"
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

/// What the protocol needs of shared memory.
struct team_board::memory {
    team_board& board;

    std::uint32_t count() const { return board.members_.count(); }
    std::uint32_t own() const { return board.members_.own(); }
    std::uint64_t await_finished(std::uint32_t member, std::uint64_t turn) const {
        std::uint64_t& known = board.finished_[member];
        if (known >= turn) return known;
        detail::shared_word& word = board.members_.block(member).board_finished.word;
        detail::await_word(board.context_, {word, turn, machine::wait_reason::collective});
        return known = detail::word_load(word);
    }
    void tell_finished(std::uint64_t turn) const {
        machine::word_store(board.context_, board.own_.board_finished.word, turn);
    }
};

std::byte* team_board::own_line() {
    memory words{*this};
    lines_protocol::await_free_line(words, now_, shown_[now_.turn % board_turns]);
    return own_.board[now_.turn % board_turns].bytes;
}

void team_board::show(std::size_t bytes) {
    numbered_line& line = own_.board[now_.turn % board_turns];
    machine::announce_write(context_, line.bytes, bytes);
    machine::word_store(context_, line.number, now_.turn);
}

const std::byte* team_board::line_of(std::uint32_t member, std::size_t bytes) {
    numbered_line& line = members_.block(member).board[now_.turn % board_turns];
    if (member != members_.own()) {
        detail::await_word(context_, {line.number, now_.turn, machine::wait_reason::collective});
        machine::announce_read(context_, line.bytes, bytes);
        // Who shows a line of this turn has finished all before it.
        finished_[member] = std::max(finished_[member], now_.turn - 1);
    }
    return line.bytes;
}

void team_board::end_turn(bool all_read_all) {
    prepare_to_write(own_.board[(now_.turn + 1) % board_turns]);
    memory words{*this};
    lines_protocol::end_turn(words, now_, all_read_all);
}

void team_board::run(const detail::block_call& call) {
    using enum collective_kind;
    begin_turn();
    if (!only_root_gives(call.what) || members_.own() == call.root) show(call);
    if (gets_result(members_, call)) read(call);
    const bool all_read_all = call.what == all_reduce || call.what == all_gather ||
                              call.what == exchange || call.what == reduce_scatter;
    end_turn(all_read_all);
}

void team_board::show(const detail::block_call& call) {
    const std::byte* const source =
        call.what == collective_kind::broadcast ? call.target : call.source;
    const std::size_t bytes = shown_bytes(members_, call);
    std::byte* const line = own_line();
    if (bytes != 0) std::memcpy(line, source, bytes);
    show(bytes);
}

void team_board::read(const detail::block_call& call) {
    if (call.how != nullptr) return combine(call);
    const std::size_t bytes = call.block_bytes();
    const std::size_t start = gives_all(call.what) ? members_.own() * bytes : 0;
    const auto take = [&](std::uint32_t from, std::byte* to) {
        const std::byte* const line = line_of(from, start + bytes);
        if (bytes != 0) std::memcpy(to, line + start, bytes);
    };
    if (only_root_gives(call.what)) {
        const bool has_it = call.what == collective_kind::broadcast && members_.own() == call.root;
        if (!has_it) take(call.root, call.target);
        return;
    }
    for (std::uint32_t from = 0; from < members_.count(); ++from) {
        take(from, call.target + from * bytes);
    }
}

void team_board::combine(const detail::block_call& call) {
    const bool is_scattered = call.what == collective_kind::reduce_scatter;
    const std::size_t start = is_scattered ? members_.own() * call.block_bytes() : 0;
    combination_.prepare(members_.count(), call.element_bytes);
    combination_.combine(call.target,
                         {call.count, members_combined(members_, call), is_prefix(call.what)},
                         *call.how, [&](std::uint32_t member, std::size_t from, std::size_t bytes) {
                             const std::size_t place = start + from;
                             return line_of(member, place + bytes) + place;
                         });
    // Nothing to combine: the others' lines still have to be there before the turn can end.
    for (std::uint32_t member = 0; call.count == 0 && member < members_.count(); ++member) {
        line_of(member, 0);
    }
}

}  // namespace selion::collectives
