// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <selion/detail/export.hpp>
#include <selion/detail/future_state.hpp>

/// Values of futures that a floor above gets by messages of its own.
namespace selion::detail {

/// A rank owes the value. Where ranks may die before they have paid, its death fulfils the state,
/// with an error as its trouble.
SELION_API void expect_value(std::uint32_t rank, future_state& state);
/// The value has come, or is not wanted any more. @return whether the caller is to fulfil the
/// state: once, and never after a death has.
SELION_API bool settle_value(std::uint32_t rank, future_state& state);

}  // namespace selion::detail
