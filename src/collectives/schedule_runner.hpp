// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "collectives/aligned_bytes.hpp"
#include "collectives/message_inbox.hpp"
#include "collectives/team_members.hpp"
#include "selion/detail/block_call.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/schedule.hpp"

namespace selion::collectives {

/// Carries out one rank's schedule by messages, on any machine: the universal way, for ranks that
/// do not map each other. See runner.md.
class schedule_runner {
public:
    /// @param collective its number in its team: the same at all ranks, and never used again.
    schedule_runner(detail::rank_context& context, const team_members& members,
                    const detail::block_call& call, std::uint64_t collective);

    void run();

private:
    schedule_request choose() const;
    rank_schedule make(const schedule_request& request) const;
    void prepare();
    void prepare_exchange();
    void finish();
    void run_step(const schedule_step& step);
    void send(const schedule_message& message);
    void receive(const schedule_message& message);
    void expect_bytes(const schedule_message& message, std::size_t come) const;
    void take_in(block_action action, std::uint64_t block, std::byte* come);
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
    std::uint64_t collective_;
    rank_schedule schedule_;
    bool cuts_vector_;    ///< blocks are parts of one vector, not one of each rank
    aligned_bytes work_;  ///< of a reduction: all its blocks; of others what is given, where that
                          ///< is overwritten by what comes
    const std::byte* source_;
    std::unordered_map<std::uint64_t, aligned_bytes> transit_;  ///< blocks of others, by number
    std::vector<std::byte> packed_;
};

}  // namespace selion::collectives
