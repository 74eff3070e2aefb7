// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "machine/fabric/launcher_link.hpp"

namespace selion::machine::fabric {

/// Neighbours in number.
struct rank_range {
    std::uint32_t first = 0;
    std::uint32_t count = 1;
    bool contains(std::uint32_t rank) const { return rank - first < count; }
};

/// Which rank is in which process: each has as many, neighbours in number, and ranks follow the
/// numbers of processes.
class rank_places {
public:
    /// @param launched its processes may be renumbered.
    rank_places(launcher_link& launched, std::uint32_t ranks_per_process)
        : launched_(launched), ranks_per_process_(ranks_per_process) {}

    std::uint32_t ranks_per_process() const { return ranks_per_process_; }
    std::uint32_t ranks() const { return launched_.place().processes * ranks_per_process_; }
    std::uint32_t process_of(std::uint32_t rank) const { return rank / ranks_per_process_; }
    rank_range of_process(std::uint32_t process) const {
        return {process * ranks_per_process_, ranks_per_process_};
    }
    rank_range own() const { return of_process(launched_.place().process); }
    /// A process has said itself how its host is called. Any thread.
    void note_host(std::uint32_t process, const std::string& host);
    /// Of a rank: as its process calls it, once that is known; before, as the launcher does. Or "an
    /// unknown host".
    std::string host_of(std::uint32_t rank) const;
    /// "rank 2 of 4 on host a".
    std::string name_of(std::uint32_t rank) const;
    /// The same of the first rank of a process.
    std::string name_of_process(std::uint32_t process) const {
        return name_of(of_process(process).first);
    }

private:
    launcher_link& launched_;
    std::uint32_t ranks_per_process_;
    mutable std::mutex told_mutex_;
    std::map<std::uint32_t, std::string> told_hosts_;  ///< by process
};

}  // namespace selion::machine::fabric
