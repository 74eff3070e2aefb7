// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <selion/detail/export.hpp>
#include <selion/schedule.hpp>

namespace selion {

/// What carries the data of a collective from member to member.
enum class collective_way {
    board,     ///< shared memory: each member shows up to 112 bytes in a line that all others read
    slots,     ///< shared memory: all show a part of their data, meet, and read; part by part
    direct,    ///< shared memory: data are read and combined where they lie; not for all calls
    lines,     ///< shared memory: the messages of a schedule, a line for each pair of members
    messages,  ///< the messages of a schedule, by the machine
    nodes,     ///< ranks of several nodes: shared memory within each, and messages of one rank of
               ///< each; of barriers, broadcasts and short all-reductions
};
SELION_API std::string_view name_of(collective_way way);

/// How a collective is carried out.
struct collective_choice {
    collective_way way = collective_way::messages;
    /// Of ways that follow a schedule; its collective, ranks and root are the call's.
    schedule_request schedule = {};
    /// Of slots: at most so many bytes of a block are shown at a time; 0: as many as there is room.
    std::uint32_t part_bytes = 0;
};

/// "board", "nodes", "slots:8192", "lines:k_nomial:4", "messages:hierarchical:2:4",
/// "lines:chain/8": the way; of slots the bytes of a part, if that is limited; of a schedule the
/// algorithm, where they matter its radix, its group and its seed, and after a slash its segments
/// if there are several.
SELION_API std::string text_of(const collective_choice& choice);
/// The same back; a radix or group that is left out is 2, a seed 1, there is one segment, and parts
/// are as long as there is room.
/// @error selion::error with what is legal.
SELION_API collective_choice choice_of(std::string_view text);

}  // namespace selion
