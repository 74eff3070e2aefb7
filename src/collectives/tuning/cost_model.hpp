// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collectives/node_map.hpp"
#include "selion/collective_choice.hpp"

/// What a collective takes, computed from what its pieces take. The formulas: model.md.
namespace selion::collectives {

/// Nanoseconds of the pieces, between ranks of one kind of machine on a host.
struct host_costs {
    double signal;       ///< until a rank sees a line that one on another processor has written
    double line;         ///< own work for a line that a rank writes or reads
    double arrival;      ///< one of several arrivals at a counter
    double copy;         ///< a KiB that another rank has written
    double combine;      ///< a KiB that is combined with another
    double lend;         ///< a KiB that others read where it lies, to who has it
    double turn;         ///< a processor goes from one rank to the next
    double call = 0;     ///< to the kernel, for data in the memory of another process …
    double read = 0;     ///< … of which this is a KiB
    double message = 0;  ///< own work for a message to or from another node …
    double way = 0;      ///< … until it is there, beside that …
    double carry = 0;    ///< … and a KiB of it
};

/// What is known of a kind of machine before this host has been measured.
/// @param machine as `tuning_machine` names it.
const host_costs& built_in_costs(std::string_view machine);

/// Where members run.
struct team_shape {
    std::uint32_t members;
    std::uint32_t processors;       ///< that they share
    bool share_processors = false;  ///< then one combines for all of them where that is enough
    bool is_one_process = false;
    const node_map* nodes = nullptr;  ///< of the members, if they are on several
};

/// What they do.
struct block_shape {
    collective_kind what;
    std::size_t bytes;  ///< of one block
};

/// Nanoseconds of one call, of the member that takes longest, where calls follow each other.
/// @pre the way can carry the collective out, and is not that of messages unless members are on
/// several nodes.
/// @cost of ways that follow a schedule: time and memory of all ranks' schedules.
double predicted_ns(const host_costs& host, const team_shape& team, const block_shape& block,
                    const collective_choice& choice);

}  // namespace selion::collectives
