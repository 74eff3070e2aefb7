// SPDX-License-Identifier: Apache-2.0
#include "world/job_files.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <map>
#include <system_error>

#include "machine/process/run_history.hpp"
#include "selion/detail/rank_context.hpp"
#include "selion/detail/record_name.hpp"

namespace selion::detail {
namespace {

constexpr std::array record_knobs{base::knob::meters, base::knob::trace, base::knob::time};

std::string variable_of(base::knob which) {
    return std::string(base::knob_table()[static_cast<std::size_t>(which)].name);
}

bool is_device(const std::filesystem::path& path) {
    std::error_code trouble;  // of one that is not there
    return std::filesystem::is_other(path, trouble);
}

std::string absolute_name(const std::string& name) {
    return std::filesystem::absolute(name).lexically_normal();
}

/// "all.json" with "2" between: "all.2.json".
std::string with_word(std::filesystem::path path, const std::string& word) {
    return path.replace_filename(path.stem().string() + "." + word + path.extension().string());
}

std::string with_number(const std::string& path, std::uint32_t number) {
    return number > 1 ? with_word(path, std::to_string(number)) : path;
}

machine::numbered_files resolve_all() {
    machine::numbered_files found;
    std::map<std::string, std::uint32_t>
        numbers;  // one for each file, which two may name by mistake
    for (const base::knob which : record_knobs) {
        const std::string value = base::knob_text(which).value_or("");
        if (value.empty() || base::is_switch_word(value)) continue;
        // A link on the way may lead to where ".." is another folder, so the name stays as it is.
        machine::numbered_file& file = found[variable_of(which)];
        file.path = std::filesystem::absolute(value);
        if (which == base::knob::time || is_device(value)) continue;
        const std::string name = absolute_name(value);
        if (!numbers.contains(name)) numbers[name] = machine::count_writer(name);
        file.number = numbers[name];
    }
    return found;
}

/// The rank of this process, also for a thread that belongs to none; -1: it has no rank.
std::int64_t own_rank() {
    const rank_context& context = *current_context;
    if (context.ranks != 0) return context.rank;
    const machine::job_environment* const place = machine::place_in_job();
    return place != nullptr ? std::int64_t{place->process} : -1;
}

}  // namespace

job_files::job_files(const machine::launcher& launcher) {
    const machine::numbered_files* const handed = launcher.handed_files();
    all_ = handed != nullptr ? *handed : resolve_all();
    if (handed == nullptr) return;
    for (const auto& [variable, file] : all_) {
        machine::note_writer({absolute_name(file.path), file.number});
    }
}

std::string job_files::of(base::knob which) const {
    const auto found = all_.find(variable_of(which));
    return found == all_.end() ? "" : with_number(found->second.path, found->second.number);
}

/// A job that a rank starts has the rank's name beside the number of the rank's own job: neither
/// other ranks nor later jobs find the same one.
std::string name_for_other_job(std::string_view value) {
    std::string name(value);
    if (name.empty() || base::is_switch_word(name) || is_device(name)) return name;
    const bool has_begun = machine::active_machine() != nullptr;
    if (machine::is_for_rank() && !has_begun) return {};
    if (const std::int64_t rank = own_rank(); rank >= 0) {
        name = with_word(with_number(name, machine::writers_of(absolute_name(name))),
                         fmt::format("rank-{}", rank));
    }
    return with_number(name, machine::count_writer(absolute_name(name)));
}

}  // namespace selion::detail
