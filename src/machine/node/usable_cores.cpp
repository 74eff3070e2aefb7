// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "machine/node/binding.hpp"
#include "selion/machines.hpp"

namespace selion {
namespace {

/// Processors' worth of time that the cgroup grants; a large number when unlimited.
double processors_in_quota() {
    std::ifstream unified("/sys/fs/cgroup/cpu.max");
    std::string quota;
    double period = 0;
    if (unified >> quota >> period && quota != "max" && period > 0) {
        return std::stod(quota) / period;
    }
    std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    double microseconds = -1;
    if (quota_file >> microseconds && period_file >> period && microseconds > 0 && period > 0) {
        return microseconds / period;
    }
    return std::numeric_limits<double>::max();
}

}  // namespace

std::uint32_t usable_cores() {
    const std::size_t cores = machine::node::processors_by_core().size();
    const double known = cores != 0 ? static_cast<double>(cores)
                                    : static_cast<double>(std::thread::hardware_concurrency());
    return std::max(1u,
                    static_cast<std::uint32_t>(std::ceil(std::min(known, processors_in_quota()))));
}

}  // namespace selion
