// SPDX-License-Identifier: Apache-2.0
#include "machine/process/hang_setting.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/knobs.hpp"

namespace selion::machine {

hang_setting take_hang_setting() {
    constexpr std::array<std::string_view, 2> actions{"report", "abort"};
    return {.timeout_ns = base::knob_nanoseconds(base::knob::hang_timeout),
            .ends_job = base::knob_choice(base::knob::hang_action, actions) == 1};
}

int sample_period_ms(std::int64_t timeout_ns) {
    constexpr std::int64_t longest_ms = 250;
    if (timeout_ns == 0) return -1;
    return static_cast<int>(std::clamp<std::int64_t>(timeout_ns / 4'000'000, 1, longest_ms));
}

std::int64_t watched_time::at(std::int64_t now_ns) {
    constexpr std::int64_t longest_step_ns = 1'000'000'000;  // between looks: a quarter of that
    if (last_ns_ != 0) time_ns_ += std::min(now_ns - last_ns_, longest_step_ns);
    last_ns_ = now_ns;
    return time_ns_;
}

}  // namespace selion::machine
