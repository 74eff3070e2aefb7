// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace selion::detail {

/// What recording one event of a trace takes of its rank's time on this host: two looks at the
/// clock, the recorder, and its part in making text of the events. Measured in a few milliseconds.
/// @return picoseconds.
std::int64_t measure_event_cost_ps();

}  // namespace selion::detail
