// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/fabric_spec.hpp"

#include <fmt/format.h>

#include "base/units.hpp"
#include "selion/machines.hpp"

namespace selion::machine::fabric {

error malformed(const machine_spec& spec, std::string_view mistake) {
    return {status::bad_argument, fmt::format("machine \"{}\": {}; legal forms are fabric and "
                                              "fabric:N, N as the launcher has been told",
                                              spec.text, mistake)};
}

std::string mistake_in(const machine_spec& spec) {
    for (const auto& [key, value] : spec.options) {
        if (key == "direct" && (value == "on" || value == "off")) continue;
        if (key == "direct") return fmt::format("direct={} is neither on nor off", value);
        if (key != "progress") return fmt::format("there is no option \"{}\"", key);
        if (value == "interrupt") {
            return "progress=interrupt is not there yet: ranks serve others in their own calls";
        }
        if (value != "polling") return fmt::format("progress={} is no way of progress", value);
    }
    if (spec.body.empty()) return {};
    const auto ranks = base::parse_whole(spec.body);
    if (ranks && *ranks > 0 && *ranks <= max_ranks) return {};
    if (spec.body.front() == 'x') return "a process is one rank: launch a process for each";
    return fmt::format("\"{}\" is not a number of ranks (1 to {})", spec.body, max_ranks);
}

}  // namespace selion::machine::fabric
