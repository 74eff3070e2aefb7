// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "machine/machine.hpp"
#include "machine/spec.hpp"
#include "selion/error.hpp"

namespace selion::machine {

/// A kind of machine: how it describes itself and how it is made.
struct machine_kind {
    machine_kind_info (*describe)();
    /// @error bad_argument for a malformed spec, system_failure when the host lacks something.
    result<std::unique_ptr<machine>> (*make)(const machine_spec& spec);
};

/// All kinds of this build, by name.
std::span<const machine_kind> kinds();

/// The spec where the environment names none: of whoever launched the process, else the program's.
/// @param wanted by the program; empty: nothing. @error system_failure (thrown): a launcher has
/// started several processes that cannot find each other.
std::string choose_spec(const std::string& wanted);

/// The machine that a spec names. @error bad_argument names the mistake and the legal kinds.
result<std::unique_ptr<machine>> make_machine(std::string_view spec);

}  // namespace selion::machine
