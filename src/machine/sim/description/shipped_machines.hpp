// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace selion::machine::sim {

/// A machine file that is part of the library.
struct shipped_machine {
    std::string_view name;
    std::string_view text;
};

/// All files of machines/, by name. The build writes them into the library, so that nothing has to
/// be installed or found.
std::span<const shipped_machine> shipped_machines();

}  // namespace selion::machine::sim
