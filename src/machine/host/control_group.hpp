// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace selion::machine {

/// The control groups (cgroups) that bound this process: its own of each kind, and all above it,
/// because each of them sets limits of its own.
class control_groups {
public:
    /// @param root where they are mounted. @param membership a file as proc(5) has it.
    explicit control_groups(std::string root = "/sys/fs/cgroup",
                            const std::string& membership = "/proc/self/cgroup");

    /// The lowest number that a file of them has: `name` in groups of version 2, or `old_name` in
    /// those of version 1, of a controller such as "memory". Other words than numbers do not bound.
    std::optional<std::uint64_t> lowest(std::string_view controller, std::string_view name,
                                        std::string_view old_name) const;
    /// The fewest processors' worth of time that they grant; nothing: no limit.
    std::optional<double> processors() const;

private:
    /// Folders of a controller, of version 2 or 1.
    std::vector<std::string> folders(std::string_view controller, bool is_old) const;

    std::string root_;
    std::vector<std::string> membership_;  ///< lines "number:controllers:path"
};

}  // namespace selion::machine
