// SPDX-License-Identifier: Apache-2.0
#include "machine/node/job_monitor.hpp"

#include <fmt/format.h>

#include "machine/node/doorbell.hpp"
#include "machine/process/failure.hpp"

namespace selion::machine::node {

job_monitor::job_monitor(const job_setting& setting, const shared_mapping& mapping)
    : setting_(setting), mapping_(mapping), watch_(mapping, setting.hang_timeout_ns) {}

bool job_monitor::sample() {
    if (!watch_.sample(steady_now_ns())) return false;
    tell(fmt::format("hang: a rank of {} has waited for {:g} s{}", setting_.description.spec,
                     static_cast<double>(setting_.hang_timeout_ns) / 1e9,
                     explain_waits(mapping_, setting_.compares_calls)));
    if (setting_.aborts_on_hang) announce({{}, "SELION_HANG_ACTION=abort: the job ends", {}});
    return setting_.aborts_on_hang;
}

void job_monitor::explain() const {
    tell(fmt::format("state of the job on {}{}", setting_.description.spec,
                     explain_waits(mapping_, setting_.compares_calls)));
}

}  // namespace selion::machine::node
