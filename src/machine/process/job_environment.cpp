// SPDX-License-Identifier: Apache-2.0
#include "machine/process/job_environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <utility>

namespace selion::machine {
namespace {

constexpr const char* place_name = "SELION_JOB_PLACE";
constexpr const char* earlier_name = "SELION_JOB_EARLIER";
constexpr const char* folder_name = "SELION_JOB_FOLDER";
constexpr std::string_view file_prefix = "SELION_JOB_FILE_";  // before the name of a variable

std::string text_of(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

/// Those that follow each other and are alike in one word: a variable may not be of any length.
std::string text_of(const std::vector<ended_run>& runs) {
    std::string words;
    for (auto first = runs.begin(); first != runs.end();) {
        const auto next =
            std::find_if(first, runs.end(), [&](const ended_run& one) { return one != *first; });
        words += fmt::format("{}{}*{} ", first->is_of_processes ? 'p' : 'o', first->status,
                             next - first);
        first = next;
    }
    return words;
}

std::vector<ended_run> runs_of(const std::string& text) {
    std::istringstream words(text);
    std::vector<ended_run> runs;
    char kind = 0;
    char times = 0;
    std::size_t count = 0;
    for (int status = 0; words >> kind >> status >> times >> count && times == '*';) {
        runs.insert(runs.end(), count, {kind == 'p', status});
    }
    return runs;
}

/// Takes the variables of files away. @return what they say
numbered_files take_files() {
    numbered_files found;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
        const std::string_view text = *each;
        const std::size_t equals = text.find('=');
        if (!text.starts_with(file_prefix) || equals == text.npos) continue;
        std::istringstream value(std::string(text.substr(equals + 1)));
        numbered_file file;
        value >> file.number;
        value.ignore();  // the space
        file.path.assign(std::istreambuf_iterator<char>(value), {});
        found[std::string(text.substr(file_prefix.size(), equals - file_prefix.size()))] = file;
    }
    for (const auto& [variable, file] : found) {
        unsetenv((std::string(file_prefix) + variable).c_str());
    }
    return found;
}

/// Without the statuses of earlier runs, and files. Nothing where the text is not one of ours, or
/// was meant for the process that started this one, before it called `run`.
std::optional<job_environment> own_place(const std::string& text) {
    job_environment found;
    std::istringstream words(text);
    if (!(words >> found.memory_file >> found.process >> found.parent >> found.handed_file) ||
        found.parent != getppid()) {
        return std::nullopt;
    }
    return found;
}

}  // namespace

std::vector<std::string> job_environment::to_variables() const {
    std::vector<std::string> all{
        fmt::format("{}={} {} {} {}", place_name, memory_file, process, parent, handed_file),
        fmt::format("{}={}", earlier_name, text_of(earlier))};
    for (const auto& [variable, file] : files) {
        all.push_back(fmt::format("{}{}={} {}", file_prefix, variable, file.number, file.path));
    }
    return all;
}

std::optional<job_environment> job_environment::take() {
    std::optional<job_environment> found = own_place(text_of(place_name));
    const std::string earlier_words = text_of(earlier_name);
    unsetenv(place_name);
    unsetenv(earlier_name);
    numbered_files files = take_files();
    if (!found) return std::nullopt;
    found->files = std::move(files);
    found->earlier = runs_of(earlier_words);
    return found;
}

bool job_environment::is_for_this_process() { return own_place(text_of(place_name)).has_value(); }

const char* job_environment::folder_of_start() { return std::getenv(folder_name); }

bool job_environment::owns(std::string_view variable) {
    return variable.starts_with(place_name) || variable.starts_with(earlier_name) ||
           variable.starts_with(folder_name) || variable.starts_with(file_prefix);
}

}  // namespace selion::machine
