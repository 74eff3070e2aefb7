// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/rank_places.hpp"

#include <fmt/format.h>

namespace selion::machine::fabric {

std::string rank_places::host_of(std::uint32_t rank) const {
    const launch_place& place = launched_.place();
    const std::uint32_t process = process_of(rank);
    return process == place.process ? place.host : launched_.host_of(process);
}

std::string rank_places::name_of(std::uint32_t rank) const {
    return fmt::format("rank {} of {} on host {}", rank, ranks(), host_of(rank));
}

}  // namespace selion::machine::fabric
