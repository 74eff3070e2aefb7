// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/team_members.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::collectives {

/// Long data that members of a team read where they lie, or where the lender has copied them piece
/// by piece because others cannot address them. The protocol: direct.md.
class data_lender {
public:
    data_lender(detail::rank_context& context, const team_members& members)
        : context_(context), members_(members), own_(members.block(members.own())) {}
    ~data_lender() { drop_stage(); }
    data_lender(const data_lender&) = delete;
    data_lender& operator=(const data_lender&) = delete;

    /// Bytes that can be copied for others in a turn.
    static constexpr std::size_t stage_bytes = 1024 * 1024;
    /// Makes a place to copy to, unless all members address all memory of this process.
    /// @return false: the own heap has no room for it.
    bool make_stage();
    void drop_stage();
    bool has_stage() const { return stage_ != detail::null_address; }

    /// Begins a turn, counted alike by all members; the one before has ended with a meeting.
    void begin_turn() { ++turn_; }
    /// Says where the own data lie in this turn. @pre where there is a stage they fit on it.
    void offer(std::span<std::byte> data);
    /// Makes a part of them readable, in pieces. Nothing to do for data that lie in shared memory.
    void stage(std::size_t start, std::size_t bytes);
    /// Waits until a member has offered its data and staged `staged` bytes of them.
    /// @return where they start.
    const std::byte* data_of(std::uint32_t member, std::size_t staged);
    /// Announces that a range of somebody's data is read.
    void read(const std::byte* start, std::size_t bytes);

private:
    detail::rank_context& context_;
    const team_members& members_;
    team_block& own_;
    std::uint64_t stage_ = detail::null_address;  ///< in the own segment
    std::uint64_t turn_ = 0;
    std::uint64_t staged_ = 0;  ///< bytes, ever
    std::span<std::byte> data_;
    std::byte* copy_ = nullptr;  ///< of this turn's data; null: they lie in shared memory
};

}  // namespace selion::collectives
