// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/job_environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <sstream>

namespace selion::machine {
namespace {

constexpr const char* place_name = "SELION_JOB_PLACE";
constexpr const char* earlier_name = "SELION_JOB_EARLIER";

}  // namespace

std::vector<std::string> job_environment::to_variables() const {
    return {fmt::format("{}={} {} {}", place_name, memory_file, process, parent),
            fmt::format("{}={}", earlier_name, fmt::join(earlier, " "))};
}

std::optional<job_environment> job_environment::take() {
    const char* place = std::getenv(place_name);
    const char* earlier = std::getenv(earlier_name);
    if (place == nullptr || earlier == nullptr) return std::nullopt;
    job_environment found;
    std::istringstream place_text(place);
    if (!(place_text >> found.memory_file >> found.process >> found.parent)) return std::nullopt;
    std::istringstream earlier_text(earlier);
    for (int status = 0; earlier_text >> status;) found.earlier.push_back(status);
    unsetenv(place_name);
    unsetenv(earlier_name);
    return found;
}

}  // namespace selion::machine
