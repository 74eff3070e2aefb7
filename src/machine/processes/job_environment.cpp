// SPDX-License-Identifier: Apache-2.0
#include "machine/processes/job_environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace selion::machine {
namespace {

constexpr const char* place_name = "SELION_JOB_PLACE";
constexpr const char* earlier_name = "SELION_JOB_EARLIER";
constexpr const char* folder_name = "SELION_JOB_FOLDER";

}  // namespace

std::vector<std::string> job_environment::to_variables() const {
    return {fmt::format("{}={} {} {} {}", place_name, memory_file, process, parent, handed_file),
            fmt::format("{}={}", earlier_name, fmt::join(earlier, " "))};
}

std::optional<job_environment> job_environment::take() {
    const char* place = std::getenv(place_name);
    const char* earlier = std::getenv(earlier_name);
    const std::string place_text = place != nullptr ? place : "";
    const std::string earlier_text = earlier != nullptr ? earlier : "";
    unsetenv(place_name);
    unsetenv(earlier_name);
    job_environment found;
    std::istringstream place_words(place_text);
    if (!(place_words >> found.memory_file >> found.process >> found.parent >> found.handed_file)) {
        return std::nullopt;
    }
    // Meant for the process that started this one, before it called `run`.
    if (found.parent != getppid()) return std::nullopt;
    std::istringstream earlier_words(earlier_text);
    for (int status = 0; earlier_words >> status;) found.earlier.push_back(status);
    return found;
}

const char* job_environment::folder_of_start() { return std::getenv(folder_name); }

bool job_environment::owns(std::string_view variable) {
    return variable.starts_with(place_name) || variable.starts_with(earlier_name) ||
           variable.starts_with(folder_name);
}

}  // namespace selion::machine
