// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <selion/detail/export.hpp>

namespace selion::detail {

/// Notes which line of a script makes the calling rank's next call that may wait: "model.py:12".
/// Reports of hangs and deaths name it where they cannot name a place of the main program. Of a
/// long one the end is kept, 127 bytes. Does nothing within another call of the rank, in handlers,
/// and in threads that are not a rank's own.
SELION_API void note_script_place(std::string_view place);

/// What has been noted last.
SELION_API std::string noted_script_place();

/// A module that a script has loaded.
struct script_module {
    std::string name;
    std::uint64_t fingerprint;  ///< of its text
};

/// Notes what script the program runs: processes of a job on many hosts that have noted different
/// ones refuse to start. @param fingerprint of its text; 0: of none
/// @param modules those of the user; of which only one process has noted tell nothing
SELION_API void note_script(std::uint64_t fingerprint, std::vector<script_module> modules = {});

}  // namespace selion::detail
