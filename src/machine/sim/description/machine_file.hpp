// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/sim/description/machine_options.hpp"
#include "machine/sim/model/machine_model.hpp"
#include "selion/error.hpp"

namespace selion::machine::sim {

/// The machine of a file, with options applied.
/// @param name_or_path one of `shipped_machines()`, or a path: it has a '/' or ends in ".toml".
/// @param options short keys such as `rows`, or keys with their table such as `network.hop_ns`.
/// @error bad_argument: no such machine, a malformed file, an unknown or illegal option; one
/// sentence with file, line and key.
result<machine_model> load_machine(std::string_view name_or_path, const option_map& options);

/// The machine that a text describes. @param file as sentences shall name it.
result<machine_model> read_machine(std::string_view text, const std::string& file,
                                   const option_map& options);

/// The model in words, with worked examples, and all its constants with their sources.
std::string explain(const machine_model& model);

}  // namespace selion::machine::sim
