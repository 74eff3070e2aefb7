// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "machine/sim/description/machine_options.hpp"

namespace selion::machine::sim {

/// Which of the orders that a real network could produce a run takes.
enum class exploration : std::uint8_t {
    off,     ///< the machine's own
    random,  ///< every message late by a random time, mostly of the order of its flight
    delays,  ///< a few messages very late: most lost orders need only one or two
};

/// How a run differs from the machine's own.
struct run_setting {
    std::uint64_t heap_bytes = 0;   ///< reserve of each rank; 0: chosen by the number of ranks
    std::uint64_t stack_bytes = 0;  ///< of each rank; 0: chosen by the number of ranks
    bool has_payload = true;        ///< long puts and gets move their data, not only take time
    bool has_threads = false;       ///< a thread for each rank instead of fibers
    std::uint64_t seed = 1;
    exploration explore = exploration::off;
    /// Virtual time for each unit of host time that a rank computes; 0: only what it charges.
    double host_time_scale = 0;
    double delay_probability = 0;  ///< of a message to be late …
    std::int64_t delay_ps = 0;     ///< … by this
    double loss_probability = 0;   ///< of a message to get lost, each time that it is sent
    struct kill {
        std::uint32_t rank;
        std::int64_t at_ps;
    };
    std::vector<kill> kills;
    std::map<std::uint32_t, double> slow;  ///< rank → factor on all of its processor's times

    bool is_deterministic() const { return host_time_scale == 0; }
    /// What each of so many ranks gets.
    std::uint64_t stack_bytes_of(std::uint32_t ranks) const;
};

/// Takes what belongs to a run out of a spec's options; the rest is the machine's.
/// @param spec as given, for messages.
/// @error bad_argument with the option, the mistake and the legal forms.
run_setting take_run_setting(std::string_view spec, option_map& options);

/// "sim:NAME" options that belong to a run, for help texts: name and form.
std::vector<std::pair<std::string, std::string>> run_setting_forms();

}  // namespace selion::machine::sim
