// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "collectives/message_tree.hpp"
#include "collectives/node_map.hpp"
#include "collectives/tuning/tuning_table.hpp"
#include "machine/machine.hpp"
#include "world/tuning_file.hpp"

namespace selion::detail {

/// What the ranks of a network tell each other before their functions begin, because each of them
/// has to choose the ways of collectives as all others do: which of them share memory, and the rows
/// of rank 0's tuning table that are about this network.
class network_start {
public:
    /// Collective where the machine is a network; elsewhere nothing is told. From then on the
    /// context knows of nodes, and of the rows if there are any, as long as this lives. Messages of
    /// ranks that are done already are served meanwhile.
    /// @return whether there was anything to tell.
    /// @cost an all-reduce of a bit a rank and a word; where rank 0 has rows of networks, a
    /// broadcast of a word, and of the rows if any count.
    bool tell(rank_context& context, const tuning_file& file);

private:
    void share_rows(rank_context& context, collectives::message_tree& messages,
                    const tuning_file& file);

    collectives::node_map nodes_;
    std::optional<collectives::tuning_table> table_;
};

/// As tables name the network of a job: its provider, nodes, and ranks of the largest node.
std::string network_name(const rank_context& context);

}  // namespace selion::detail
