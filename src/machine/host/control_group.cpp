// SPDX-License-Identifier: Apache-2.0
#include "machine/host/control_group.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/units.hpp"

namespace selion::machine {
namespace {

/// Quota and period of a group of version 2, as in "150000 100000" or "max 100000".
std::optional<double> share_in(const std::string& path) {
    std::ifstream file(path);
    double quota = 0;
    double period = 0;
    if (!(file >> quota >> period) || period <= 0) return std::nullopt;
    return quota / period;
}

void lower(std::optional<double>& least, std::optional<double> other) {
    if (other && (!least || *other < *least)) least = other;
}

}  // namespace

control_groups::control_groups(std::string root, const std::string& membership)
    : root_(std::move(root)) {
    std::ifstream file(membership);
    for (std::string line; std::getline(file, line);) membership_.push_back(line);
}

/// A container may see its own group as the root, but under the path that the host gives it: what
/// is not there is passed over.
std::vector<std::string> control_groups::folders(std::string_view controller, bool is_old) const {
    std::string base = root_;
    if (is_old) base += '/' + std::string(controller);
    std::vector<std::string> found;
    for (const std::string& line : membership_) {
        const std::size_t list = line.find(':') + 1;
        const std::size_t path = line.find(':', list) + 1;
        if (list == 0 || path == 0) continue;
        const std::string controllers = ',' + line.substr(list, path - 1 - list) + ',';
        const bool is_meant =
            is_old ? controllers.find(',' + std::string(controller) + ',') != std::string::npos
                   : controllers == ",,";
        if (!is_meant) continue;
        for (std::string rest = line.substr(path); rest.size() > 1;) {
            found.push_back(base + rest);
            rest.resize(rest.rfind('/'));
        }
    }
    found.push_back(base);
    return found;
}

std::optional<std::uint64_t> control_groups::lowest(std::string_view controller,
                                                    std::string_view name,
                                                    std::string_view old_name) const {
    std::optional<std::uint64_t> least;
    for (const bool is_old : {false, true}) {
        const std::string file = '/' + std::string(is_old ? old_name : name);
        for (const std::string& folder : folders(controller, is_old)) {
            const std::optional<std::uint64_t> number = base::whole_in_file(folder + file);
            if (number && (!least || *number < *least)) least = number;
        }
    }
    return least;
}

std::optional<double> control_groups::processors() const {
    std::optional<double> least;
    for (const std::string& folder : folders("cpu", false)) {
        lower(least, share_in(folder + "/cpu.max"));
    }
    for (const std::string& folder : folders("cpu", true)) {
        const std::optional<std::uint64_t> quota =
            base::whole_in_file(folder + "/cpu.cfs_quota_us");
        const std::optional<std::uint64_t> period =
            base::whole_in_file(folder + "/cpu.cfs_period_us");
        if (quota && period && *period != 0) {
            lower(least, static_cast<double>(*quota) / static_cast<double>(*period));
        }
    }
    return least;
}

}  // namespace selion::machine
