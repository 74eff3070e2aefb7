// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <source_location>

#include <selion/detail/export.hpp>
#include <selion/detail/team_view.hpp>

namespace selion::machine {
struct call_record;
}  // namespace selion::machine

namespace selion::detail {

/// For its lifetime the collectives that a call consists of are told by the name of that call.
class composed_call {
public:
    enum class name : std::uint8_t { gatherv, all_gatherv, scatterv, exchangev, split, subteam };
    SELION_API composed_call(const team_view& team, name what, std::source_location site);
    SELION_API ~composed_call();
    composed_call(const composed_call&) = delete;
    composed_call& operator=(const composed_call&) = delete;

private:
    machine::call_record* record_;  ///< null: the call is part of another one
};

}  // namespace selion::detail
