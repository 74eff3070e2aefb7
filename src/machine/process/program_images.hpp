// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "selion/detail/script_place.hpp"

namespace selion::machine {

/// A library whose functions messages may name.
struct message_library {
    std::uint64_t start = 0;  ///< where it lies
    std::uint64_t tag = 0;    ///< by which messages know it: the same in every process
    std::string path;
};

/// Those that are loaded now. The program itself is none.
std::vector<message_library> message_libraries();

/// What `detail::note_script` was told.
struct running_script {
    std::uint64_t fingerprint = 0;  ///< 0: of none
    std::vector<detail::script_module> modules = {};
};
running_script script_of_program();

}  // namespace selion::machine
