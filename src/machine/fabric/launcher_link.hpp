// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "selion/error.hpp"

namespace selion::machine::fabric {

/// What the launcher tells of the job.
struct launch_place {
    std::uint32_t rank = 0;
    std::uint32_t ranks = 0;
    std::uint32_t ranks_on_host = 0;
    std::uint32_t host_number = 0;
    std::uint32_t part_of_host = 0;   ///< of hosts that tests divide; else 0
    std::vector<std::uint32_t> near;  ///< ranks of the own host, in order; the own one among them
    std::string host;
};

/// The connection to the launcher's PMIx server: the one place that knows PMIx. There is one in a
/// process, and it lasts until the process ends.
class launcher_link {
public:
    /// Connects, the first time. @error system_failure with the cure.
    static result<launcher_link*> connect();

    const launch_place& place() const { return place_; }
    /// Whether ranks of some host are no neighbours in number. @cost asks the server of each rank
    bool is_scattered();
    /// From now on, here as everywhere, ranks are numbered host by host, hosts and the ranks of
    /// each in the launcher's order. For all ranks or none; rank 0 stays what it is.
    /// @cost asks the server of each rank, the first time
    void renumber();
    /// Publishes bytes for all ranks; they are there after the next fence.
    void put(const std::string& key, std::span<const std::byte> bytes);
    /// What a rank has published. May wait for the launcher, never for the rank's process.
    std::optional<std::vector<std::byte>> get(std::uint32_t rank, const std::string& key);
    /// Whether a rank has published something, as far as its server says within a second. May be
    /// asked while the caller is in a fence.
    bool has_put(std::uint32_t rank, const std::string& key);
    /// Host of a rank, or "an unknown host".
    std::string host_of(std::uint32_t rank);
    /// "rank 2 of 4 on host a".
    std::string name_of(std::uint32_t rank);
    /// Waits for all ranks, and lets what was put be seen.
    /// @param serve called again and again meanwhile; may sleep for a moment.
    void fence(const std::function<void()>& serve);
    /// Asks the launcher to end all ranks of the job. May not return.
    void abort(int status);

    /// From now on, called on a thread of PMIx when a rank of the job has died, with its number, or
    /// with none when the launcher itself is gone.
    using loss_handler = void (*)(std::optional<std::uint32_t> rank, const char* why);
    void on_loss(loss_handler handler);

private:
    launcher_link() = default;
    result<launch_place> ask_place();
    std::vector<std::uint32_t> ask_order();
    std::uint32_t launcher_rank(std::uint32_t rank) const {
        return order_.empty() ? rank : order_[rank];
    }

    launch_place place_;
    std::vector<std::uint32_t> order_;  ///< the launcher's number of each rank; empty: the same
    std::string job_name_;
};

}  // namespace selion::machine::fabric
