// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <selion/detail/export.hpp>

namespace selion::detail {

/// Notes which line of a script makes the calling rank's next call that may wait: "model.py:12".
/// Reports of hangs and deaths name it where they cannot name a place of the main program. Of a
/// long one the end is kept, 127 bytes. Does nothing within another call of the rank, in handlers,
/// and in threads that are not a rank's own.
SELION_API void note_script_place(std::string_view place);

/// What has been noted last.
SELION_API std::string noted_script_place();

}  // namespace selion::detail
