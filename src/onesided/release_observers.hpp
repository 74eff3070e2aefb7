// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <vector>

#include "selion/detail/rank_context.hpp"
#include "selion/detail/slow_path.hpp"

namespace selion::onesided {

/// What a floor above does before what the rank has written is announced to others: in its
/// collectives, signals, messages, `fence` and `quiet`. Those of handlers and of threads that have
/// joined the rank announce nothing of it.
class release_observer {
public:
    virtual ~release_observer() = default;
    /// By the rank's own thread. May wait.
    virtual void on_release(std::source_location site) = 0;
};

/// Those of one rank. While there are some, no signal and no barrier takes its shortest way.
class release_observers {
public:
    void add(detail::rank_context& context, release_observer& observer);
    void remove(detail::rank_context& context, release_observer& observer);
    void release(detail::rank_context& caller, std::source_location site);

private:
    std::vector<release_observer*> observers_;
    const void* plain_caller_ = nullptr;  ///< of the context, without observers
    bool is_releasing_ = false;
};

}  // namespace selion::onesided

namespace selion::detail {

/// Called by whatever tells others that the rank has written.
inline void release_writes(const rank_context& context, std::source_location site) {
    if (context.own.announces_writes) [[unlikely]]
        release_writes_slow(site);
}

}  // namespace selion::detail
