// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "machine/machine.hpp"

namespace selion {
class counter;
}

namespace selion::machine {
class death_list;
}

namespace selion::machine::fabric {

/// For whom the provider moves memory.
struct move_owner {
    bool is_pull = false;  ///< a `message_pull`, else a `pending_operation`
};

/// An operation of the own rank that answers are awaited for: one, or one for each piece.
struct pending_operation : move_owner {
    detail::shared_word done{};  ///< 1: all answers are there, of one that is waited for
    std::uint64_t pieces_left = 0;
    bool is_awaited = false;   ///< by a call, which closes it
    std::uint64_t before = 0;  ///< what an atomic found
    void* answer = nullptr;    ///< where it goes, of one that is not waited for; or null
    std::uint8_t answer_bytes = 0;
    counter* origin = nullptr;
    counter* completion = nullptr;
    std::uint32_t peer = 0;
    std::uint64_t moves = 0;  ///< under way: the provider tells of each, whatever else happens
    bool is_lost = false;     ///< its peer has died
    bool is_left = false;     ///< who has waited for it has gone, and leaves it to its moves
};

/// Operations under way, and the tickets by which answers name them. Places are used again and
/// never move; tickets say how often theirs has been used, so that a late answer finds it closed.
class operation_table {
public:
    pending_operation& open();
    void close(pending_operation& done);
    /// For an answer of a peer that brings so many bytes to a place.
    std::uint64_t draw_ticket(pending_operation& what, std::uint32_t peer, void* place,
                              std::size_t bytes);
    /// An answer has come. @return whether the ticket was open, for that peer and that length.
    bool take_answer(detail::rank_context& server, std::uint64_t ticket, std::uint32_t peer,
                     std::span<const std::byte> data);
    bool take_value(detail::rank_context& server, std::uint64_t ticket, std::uint32_t peer,
                    std::uint64_t before);
    /// One of the pieces is there, or will never be.
    void end_piece(detail::rank_context& server, pending_operation& what, bool is_lost = false);
    /// The same for one that the provider moves, whose peer has been noted.
    void begin_move(pending_operation& what);
    void end_move(detail::rank_context& server, pending_operation& what, bool is_lost);
    /// By whoever has waited for one until it was done, in place of `close`. @return whether it was
    /// lost.
    bool finish(pending_operation& done);

    /// Where peers may die: who is told of counters that nobody counts on any more.
    void heed(death_list* deaths) { deaths_ = deaths; }
    /// A peer has died: its tickets are torn off, and what waits for them, or for its moves, fails.
    void lose_peer(detail::rank_context& server, std::uint32_t peer);
    /// The same for one ticket of a peer that is dead already.
    void lose_ticket(detail::rank_context& server, std::uint64_t ticket);

private:
    struct ticket_place {
        std::uint32_t uses = 0;
        std::uint32_t peer = 0;
        pending_operation* what = nullptr;  ///< null: not open
        void* place = nullptr;
        std::size_t bytes = 0;
    };
    /// @return the place, closed again; its operation is null if it was not open.
    ticket_place tear_off(std::uint64_t ticket, std::uint32_t peer, std::size_t bytes);

    death_list* deaths_ = nullptr;
    std::mutex mutex_;
    std::deque<pending_operation> operations_;
    std::vector<pending_operation*> free_operations_;
    std::deque<ticket_place> tickets_;
    std::vector<std::uint32_t> free_tickets_;
};

}  // namespace selion::machine::fabric
