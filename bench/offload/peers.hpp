// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Others that have something done on the second core.
namespace bench {

/// Does something `count` times.
using plain_loop = std::function<void(std::uint64_t count)>;

/// Who has a worker that sleeps between its turns, so that it disturbs nobody.
struct peer {
    std::string name;
    plain_loop run;
    std::function<void()> begin = [] {};  ///< the worker may not sleep any more
    std::function<void()> end = [] {};    ///< it may
    std::int64_t quick_ns = 5'000;        ///< what a call takes whose worker is awake, at most
};

/// A thread that answers a flag by a flag: what the hardware needs for a call and its answer.
peer bare_flags();

struct peer_list {
    std::vector<peer> waiting;    ///< each task is waited for before the next
    std::vector<peer> streaming;  ///< as many as there are, then all are waited for
};
/// Those that this build has found.
peer_list peers();

}  // namespace bench
