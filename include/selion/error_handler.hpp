// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <source_location>
#include <string_view>

#include <selion/detail/export.hpp>
#include <selion/rank.hpp>

namespace selion {

/// Why a job ends early.
struct failure {
    std::optional<rank_id> rank;               ///< who is to blame; none where that is not known
    std::string_view sentence;                 ///< as on standard error, without `selion: `
    std::optional<std::source_location> site;  ///< of the wrong call, if there was one
};

using error_handler = void (*)(const failure&);

/// From now on `handler` is called before the library ends the job: after a bug of the program, an
/// exception, a rank's early exit or death, a deadlock, or a hang where hangs end jobs. The
/// sentence is on standard error by then, and the job ends when the handler returns: it cannot
/// prevent that, only write what the program wants to keep.
///
/// It is called once for a job, by the thread that ends it, while other ranks may still run, in the
/// process that notices: under `processes` that of the rank which failed, or the first one for a
/// rank that has died and cannot say so any more. Each process has a handler of its own: set it
/// before `run`, and all have it. It is not called where a fatal signal ends the only process, and
/// not for Ctrl-C.
///
/// It must not call Selion, and should not wait for other ranks. What goes wrong in it (an
/// exception, a mistake, a call of exit) is told in a second sentence, and the job ends.
/// @param handler null: none. @return the one before.
SELION_API error_handler set_error_handler(error_handler handler) noexcept;

}  // namespace selion
