// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <source_location>

#include <selion/detail/export.hpp>
#include <selion/detail/rank_context.hpp>
#include <selion/world.hpp>

namespace selion::machine {
class signal_stack;
}

namespace selion {

/// Lets a thread that a rank started itself (an OpenMP thread, a std::thread) work for that rank
/// while the scope lives: puts, gets, atomics, signals and waits. Collectives stay with the rank's
/// own thread, or with one joined thread at a time.
/// @pre the job's thread level is serialized or multiple; the rank's function has not returned.
/// @error selion::error, not_available: more threads join than SELION_JOINED_THREADS allows. At
/// level single the job ends with a sentence that names the cure.
class SELION_API rank_scope {
public:
    explicit rank_scope(const world& all,
                        std::source_location site = std::source_location::current());
    ~rank_scope();
    rank_scope(const rank_scope&) = delete;
    rank_scope& operator=(const rank_scope&) = delete;

private:
    detail::rank_context context_;
    detail::rank_context* outer_;
    std::unique_ptr<machine::signal_stack> stack_for_signals_;
};

}  // namespace selion
