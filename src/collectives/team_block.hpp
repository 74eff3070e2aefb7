// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/spec.hpp"
#include "selion/collective_sync.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/detail/shared_word.hpp"

namespace selion::collectives {

/// A word with two lines to itself: one writer's or one meeting point's.
struct alignas(detail::line_bytes) lonely_word {
    detail::shared_word word;
};

/// In the signature of a call that has no root.
inline constexpr std::uint64_t no_root = ~std::uint64_t{0};
/// In place of a count: blocks differ in length, and not everybody knows how long they are.
inline constexpr std::uint64_t varying_count = ~std::uint64_t{0};

/// What a rank is about to do, for others to compare.
struct call_signature {
    std::uint32_t what;   ///< a `machine::operation`
    std::uint16_t modes;  ///< of entry and exit: see `modes_of`
    std::uint16_t whole;  ///< the call that it is a part of, likewise, to be told by; 0: none
    std::uint64_t site;
    std::uint64_t count;
    std::uint64_t element_bytes;
    std::uint64_t type_hash;  ///< 0: agrees with any
    std::uint64_t root;

    bool has_type_of(const call_signature& other) const {
        return type_hash == other.type_hash || type_hash == 0 || other.type_hash == 0;
    }
    bool agrees_with(const call_signature& other) const {
        return what == other.what && modes == other.modes && count == other.count &&
               element_bytes == other.element_bytes && has_type_of(other) && root == other.root;
    }
};
inline constexpr unsigned modes_bits = 8;  ///< of the one at the exit; above is that at the entry
constexpr std::uint16_t modes_of(sync_mode entry, sync_mode exit) {
    return static_cast<std::uint16_t>(static_cast<unsigned>(entry) << modes_bits |
                                      static_cast<unsigned>(exit));
}

/// The same and where a script has called, if one has: as much of the end of "model.py:12" as there
/// is room for, ended by a zero.
struct placed_call {
    call_signature call;
    std::uint64_t number;  ///< of the calls that its team has compared
    char script[40];
};

inline constexpr std::size_t slot_bytes = 32 * 1024;
static_assert(slot_bytes >= machine::max_mapped_ranks, "a part of a slot for each member");
/// From this many bytes over all members, each combines its share instead of everything.
inline constexpr std::size_t share_bytes = 64 * 1024;
/// A rank that writes one slot is at most one collective ahead of a rank that still reads the
/// other.
inline constexpr std::size_t slot_sets = 2;

/// Up to so many bytes one member combines for all that share its carrier.
inline constexpr std::size_t group_result_bytes = 1024;

/// A message of up to this size is a letter: it is sent unasked. A larger one is a parcel: it is
/// sent when its receiver has invited it (messages.md).
inline constexpr std::size_t letter_bytes = 48;
/// Letters that may be on their way from one rank to another, untaken.
inline constexpr std::uint64_t letter_window = 4;

/// One place for a letter. Signal and payload lie in one line of 64 bytes, so that they arrive
/// together.
struct alignas(64) letter_place {
    detail::shared_word arrived;  ///< number of the last letter that has come here
    std::byte bytes[letter_bytes];
};
static_assert(sizeof(letter_place) == 64);

/// Parcels that may be on their way over one link.
inline constexpr std::uint64_t parcel_window = 2;

/// One end of a link: between this rank and the one 2^level ranks away. The partner writes the
/// places and the words; the notes are the rank's own. Notes lie here, and not in private memory,
/// because the pages of a level that a rank never uses are never touched.
struct alignas(64) link_end {
    letter_place letters[letter_window];
    detail::shared_word letters_taken;    ///< mine, by the partner, as far as it says so by itself
    detail::shared_word parcels_invited;  ///< mine, by the partner
    detail::shared_word parcel_arrived[parcel_window];  ///< numbers of the last that have come

    std::uint64_t letters_sent;
    std::uint64_t letters_freed;     ///< mine that the partner has taken, as far as I know
    std::uint64_t letters_received;  ///< and taken
    std::uint64_t letters_told;      ///< of those, how many the partner knows of
    std::uint64_t letters_credited;  ///< of those, how many by its `letters_taken`
    std::uint64_t parcels_sent;
    std::uint64_t parcels_received;
    std::uint64_t invitations_used;  ///< of `parcels_invited`
};

/// Which end: the rank's link to the rank 2^level after it, or to the one before it.
inline constexpr std::size_t link_directions = 2;

/// What fits into a line beside its number.
inline constexpr std::size_t line_payload = detail::line_bytes - sizeof(detail::shared_word);

/// Something short and its number, which is stored last. Up to 48 bytes lie in the cache line of
/// the number.
struct alignas(detail::line_bytes) numbered_line {
    detail::shared_word number;
    std::byte bytes[line_payload];
};
static_assert(sizeof(numbered_line) == detail::line_bytes);

/// Lines that a member shows on the board, in turn.
inline constexpr std::uint64_t board_turns = 8;

/// Turns in which long data are read where they lie end with a meeting; so two are enough.
inline constexpr std::uint64_t offer_sets = 2;

/// Each member's part of the state of a team: of the team of all at the start of its heap, of
/// others in its heap. All zero is the initial state. Counters only grow, so nothing is ever reset
/// while somebody may look. Where
/// members map each other, all is used but `rounds`, `links`, and the words of split barriers;
/// elsewhere these, for parcels the slots, and what members of a node show each other (nodes.md).
/// There small messages stay in front of the slots, in the first two pages or three: with 100,000
/// ranks every page that each of them touches costs 400 MB.
struct team_block {
    lonely_word arrivals;        ///< in member 0: carriers (or members) that have arrived, ever
    lonely_word ends;            ///< in member 0: arrivals at meetings at the end of the job
    lonely_word end_sums[2];     ///< in member 0: what members have counted there, in turn
    lonely_word group_arrivals;  ///< in a group's first: its members that have arrived, ever
    lonely_word group_release;   ///< in a group's first: the last round that is complete; where all
                                 ///< meet at the centre, the arrivals up to there
    numbered_line board[board_turns];  ///< what the member shows, in turn
    lonely_word board_finished;        ///< the last turn it is done with, where others cannot know
    numbered_line offers[offer_sets];  ///< where the member's data lie, in turn
    lonely_word staged;                ///< bytes that it has copied for others to read, ever
    /// In a group's first, or in member 0: what the last one has combined for all, in turn.
    alignas(detail::line_bytes) std::byte group_results[slot_sets][group_result_bytes];
    lonely_word taken[slot_sets];  ///< what the member has shown to its node: by others, in turn
    alignas(detail::line_bytes) std::byte node_value[group_result_bytes];  ///< for its leader
    alignas(detail::line_bytes) placed_call calls[slot_sets];  ///< to be compared, in turn
    lonely_word rounds[detail::rank_bits];  ///< dissemination: signals received in each round, ever
    /// In member 0: members that have left, ever.
    alignas(detail::line_bytes) detail::shared_word departures;
    detail::shared_word all_have_left;  ///< elsewhere: not zero when that was all of them
    /// Split barriers: nodes that have told the member that all of theirs have arrived, ever, and,
    /// in a node's first, its members that have arrived, ever.
    detail::shared_word told_arrivals;
    detail::shared_word node_arrivals;
    alignas(detail::line_bytes) link_end links[detail::rank_bits][link_directions];
    alignas(detail::line_bytes) std::byte slots[slot_sets][slot_bytes];
};

/// Where a rank's block starts in its heap. Ranks differ, so that the same word of many blocks
/// does not meet in one set of a first-level cache (whose sets repeat every page).
constexpr std::uint64_t block_offset(std::uint32_t rank) {
    constexpr std::uint64_t places = 4096 / detail::line_bytes;
    return rank % places * detail::line_bytes;
}

/// Global address of a place in a rank's block.
constexpr std::uint64_t block_address(std::uint32_t rank, std::size_t offset) {
    return detail::global_address(rank, block_offset(rank) + offset);
}

/// Bytes of the heap that blocks may lie in.
inline constexpr std::uint64_t runtime_bytes = sizeof(team_block) + 4096;

}  // namespace selion::collectives
