// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <selion/detail/export.hpp>

namespace selion::detail {

/// What SELION_METERS or SELION_TRACE has to say to a job that this program is about to start in
/// other processes, so that it spares the files of those before it: "all.2.json" for "all.json".
/// Empty: it records nothing, because another process of the job that this one was started for has
/// started it as well, before that job began.
/// @param value of the variable, if nothing had been recorded before
SELION_API std::string name_for_other_job(std::string_view value);

}  // namespace selion::detail
