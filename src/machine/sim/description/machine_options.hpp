// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "machine/sim/description/machine_document.hpp"
#include "machine/sim/model/machine_model.hpp"

namespace selion::machine::sim {

using option_map = std::map<std::string, std::string, std::less<>>;

/// Lets options change a document before it is read: short keys that the file declares or that its
/// shape brings along (`rows=8`), and any key with its table (`network.hop_cycles=2`). Choices that
/// no option makes fall on their defaults.
/// @return the short keys and what is in force, for `--explain`.
/// @error bad_argument (thrown): unknown keys with the legal ones, illegal values.
std::vector<option_note> apply_options(machine_document& document, const option_map& options);

}  // namespace selion::machine::sim
