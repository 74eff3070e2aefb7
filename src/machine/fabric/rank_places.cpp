// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/rank_places.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace selion::machine::fabric {

void rank_places::note_host(std::uint32_t process, const std::string& host) {
    const std::lock_guard lock(told_mutex_);
    told_hosts_[process] = host;
}

std::string rank_places::host_of(std::uint32_t rank) const {
    const launch_place& place = launched_.place();
    const std::uint32_t process = process_of(rank);
    if (process == place.process) return place.host;
    {
        const std::lock_guard lock(told_mutex_);
        if (const auto told = told_hosts_.find(process); told != told_hosts_.end()) {
            return told->second;
        }
    }
    const bool is_near = std::ranges::binary_search(place.near, process);
    return is_near ? place.host : launched_.host_of(process);
}

std::string rank_places::name_of(std::uint32_t rank) const {
    return fmt::format("rank {} of {} on host {}", rank, ranks(), host_of(rank));
}

}  // namespace selion::machine::fabric
