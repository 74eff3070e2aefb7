// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "collectives/aligned_bytes.hpp"
#include "collectives/message_way.hpp"
#include "collectives/team_members.hpp"
#include "selion/detail/block_call.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/schedule.hpp"

namespace selion::collectives {

/// Carries out one member's schedule, whichever way its messages travel. See runner.md.
class schedule_runner {
public:
    /// @param schedule this member's, of the call.
    schedule_runner(detail::rank_context& context, const team_members& members,
                    const detail::block_call& call, const rank_schedule& schedule,
                    message_way& way);
    /// Nothing is written to memory of the collective, or of its caller, any more.
    ~schedule_runner() { way_.end_reading(); }
    schedule_runner(const schedule_runner&) = delete;
    schedule_runner& operator=(const schedule_runner&) = delete;

    void run();

    /// The parts of `run`, for who waits for messages between them: once before the first step, for
    /// each step both, in order, and once after the last.
    void prepare();
    /// After an error of the way, goes on with the message that it came from.
    void send(const schedule_step& step);
    void receive(const schedule_step& step);
    void finish();

private:
    void prepare_exchange();
    bool changes_what_it_sends(const schedule_step& step);
    void send(const schedule_message& message, bool may_lend);
    void receive(const schedule_message& message);
    std::size_t bytes_of(const schedule_message& message) const;
    std::byte* place_of(const schedule_message& message);
    void take_in(block_action action, std::uint64_t block, const std::byte* come);
    const std::byte* aligned(const std::byte* come, std::size_t bytes);
    const std::byte* held(std::uint64_t block);
    std::byte* place_for(std::uint64_t block);
    std::byte* own_place(std::uint64_t block);
    std::size_t elements_of(std::uint64_t block) const {
        return bytes_of(block) / call_.element_bytes;
    }
    std::size_t bytes_of(std::uint64_t block) const;
    std::size_t start_in_vector(std::uint64_t block) const;
    bool reduces() const { return call_.how != nullptr; }

    detail::rank_context& context_;
    const team_members& members_;
    const detail::block_call& call_;
    const rank_schedule& schedule_;
    message_way& way_;
    bool cuts_vector_;    ///< blocks are parts of one vector, not one of each member
    aligned_bytes work_;  ///< of a reduction: all its blocks; of others what is given, where that
                          ///< is overwritten by what comes
    std::byte* values_ = nullptr;  ///< of a reduction: where its blocks are
    const std::byte* source_;
    std::unordered_map<std::uint64_t, aligned_bytes> transit_;  ///< blocks of others, by number
    std::vector<std::span<const std::byte>> pieces_;
    std::size_t sent_ = 0;  ///< messages of the step
    aligned_bytes aligned_;
};

}  // namespace selion::collectives
