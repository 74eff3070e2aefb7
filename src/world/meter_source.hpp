// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "selion/detail/rank_context.hpp"
#include "selion/meter.hpp"

namespace selion::detail {

/// Where a meter reads its event: a count that only grows.
class meter_source {
public:
    virtual ~meter_source() = default;
    virtual std::int64_t read() = 0;

    const char* unit = "";        ///< a literal
    double scale = 1;             ///< units of one count
    double seconds = 0;           ///< of one unit, if that is a time of the clock
    double picoseconds = 0;       ///< of one count, if that is a time
    bool needs_hardware = false;  ///< it takes one of the rank's hardware meters
    bool may_take_hardware = false;
};

/// @param event with what follows the colon.
/// @error selion::error: bad_argument for an event or part that does not exist, with the legal
/// ones; not_available with the reason.
std::unique_ptr<meter_source> make_meter_source(rank_context& context, std::string_view event);

/// All events, with what may follow a colon and whether the rank can count them.
std::vector<meter_event_info> list_meter_events(rank_context& context);

}  // namespace selion::detail
