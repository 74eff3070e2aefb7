// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

/// Others that have something done on the second core.
namespace bench {

/// Does something `count` times.
using plain_loop = std::function<void(std::uint64_t count)>;
using named_loop = std::pair<std::string, plain_loop>;

/// A thread that answers a flag by a flag: what the hardware needs for a call and its answer.
plain_loop bare_flags();

struct peer_list {
    std::vector<named_loop> waiting;    ///< each task is waited for before the next
    std::vector<named_loop> streaming;  ///< as many as there are, then all are waited for
};
/// Those that this build has found.
peer_list peers();

}  // namespace bench
