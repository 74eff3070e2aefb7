// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/team_members.hpp"
#include "machine/host/process_memory.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::collectives {

/// Long data that members of a team read where they lie, or where the lender has copied them piece
/// by piece because others cannot address them. The protocol: direct.md.
class data_lender {
public:
    data_lender(detail::rank_context& context, const team_members& members);
    ~data_lender();
    data_lender(const data_lender&) = delete;
    data_lender& operator=(const data_lender&) = delete;

    /// Bytes that can be copied for others in a turn.
    static constexpr std::size_t stage_bytes = 1024 * 1024;
    /// Makes a place to copy to, unless all members address all memory of this process.
    /// @return false: the own heap has no room for it.
    bool make_stage();
    void drop_stage();
    bool has_stage() const { return stage_ != detail::null_address; }

    /// Learns whose memory is whose.
    /// @param cards of all members. @return false: not all of them can be read by this one.
    bool meet_processes(const std::vector<machine::process_card>& cards);

    /// Begins a turn, counted alike by all members; the one before has ended with a meeting.
    void begin_turn() { ++turn_; }
    /// Says where the own data lie in this turn. @pre where there is a stage they fit on it.
    void offer(std::span<std::byte> data);
    /// The same of data that others take by `copy`, wherever they lie, or of room that they fill by
    /// `give`.
    void offer_in_place(std::span<const std::byte> data);
    /// Waits until a member has so offered its data, and copies a part of them.
    void copy(std::span<std::byte> to, std::uint32_t member, std::size_t start);
    /// Waits until a member has so offered room, and fills a part of it.
    void give(std::span<const std::byte> from, std::uint32_t member, std::size_t start);
    /// Offers room in the same way, which another member may fill that offers data. Nobody writes
    /// to who may give up, nor waits for room who may. @return whether it will be filled.
    bool offer_room(std::span<std::byte> room, std::uint32_t giver);
    /// The other side. @return whether the room is to be filled.
    bool sees_room(std::uint32_t member);
    /// Waits until all have offered their data. @return whether they lie where all see them, and
    /// nobody may give up: the same at all members.
    bool may_write_to_all();
    /// Waits until a member has offered its data. @return where they are written to; null: it may
    /// give up. The same at all members. @pre of one process
    std::byte* lasting_data_of(std::uint32_t member);
    /// Makes a part of them readable, in pieces. Nothing to do for data that lie in shared memory.
    void stage(std::size_t start, std::size_t bytes);
    /// Waits until a member has offered its data and staged `staged` bytes of them.
    /// @return where they start.
    const std::byte* data_of(std::uint32_t member, std::size_t staged);
    /// Announces that a range of somebody's data is read.
    void read(const std::byte* start, std::size_t bytes);

private:
    struct offer_text;
    struct known_offer;
    bool is_lasting() const;
    void publish(const offer_text& text);
    const offer_text& await_offer(std::uint32_t member);
    bool is_beyond(const offer_text& text, std::uint32_t member) const;
    std::byte* place_of(const offer_text& text) const;

    detail::rank_context& context_;
    const team_members& members_;
    team_block& own_;
    std::uint64_t stage_ = detail::null_address;  ///< in the own segment
    std::uint64_t turn_ = 0;
    std::uint64_t staged_ = 0;  ///< bytes, ever
    std::span<std::byte> data_;
    std::byte* copy_ = nullptr;       ///< of this turn's data; null: they lie in shared memory
    std::vector<known_offer> known_;  ///< by number, modulo its size; empty before the first turn
    std::vector<std::int64_t> processes_;  ///< of members, by number; empty: all are of this one
};

}  // namespace selion::collectives
