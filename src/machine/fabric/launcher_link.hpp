// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "selion/error.hpp"

namespace selion::machine::fabric {

/// What the launcher tells of the job. Its ranks are our processes.
struct launch_place {
    std::uint32_t process = 0;
    std::uint32_t processes = 0;
    std::uint32_t processes_on_host = 0;
    std::uint32_t host_number = 0;
    std::uint32_t part_of_host = 0;   ///< of hosts that tests divide; else 0
    std::vector<std::uint32_t> near;  ///< processes of the own host, in order; the own among them
    std::string host;
};

/// The connection to the launcher's PMIx server: the one place that knows PMIx. There is one in a
/// process, and it lasts until the process ends.
class launcher_link {
public:
    /// Connects, the first time. @error system_failure with the cure.
    static result<launcher_link*> connect();

    const launch_place& place() const { return place_; }
    /// Whether processes of some host are no neighbours in number. @cost asks the server of each
    bool is_scattered();
    /// From now on, here as everywhere, processes are numbered host by host, hosts and the
    /// processes of each in the launcher's order. For all or none; number 0 stays what it is.
    /// @cost asks the server of each process, the first time
    void renumber();
    /// Publishes bytes for all processes; they are there after the next fence.
    void put(const std::string& key, std::span<const std::byte> bytes);
    /// What a process has published; nothing if the server does not say within ten seconds: some
    /// wait for one that has died before it could.
    std::optional<std::vector<std::byte>> get(std::uint32_t process, const std::string& key);
    /// Which of some processes have published something, as far as the servers say within a
    /// second. May be asked while the caller is in a fence.
    std::vector<bool> have_put(std::span<const std::uint32_t> processes, const std::string& key);
    /// Host of a process, or "an unknown host". Asks the server once for each. By any thread.
    std::string host_of(std::uint32_t process);
    /// Waits for all processes, and lets what was put be seen.
    /// @param serve called again and again meanwhile; may sleep for a moment.
    void fence(const std::function<void()>& serve);
    /// Asks the launcher to end all processes of the job. May not return.
    void abort(int status);

    /// From now on, called on a thread of PMIx when a process of the job has died, with its number,
    /// or with none when the launcher itself is gone; and at once, on this one, for each process
    /// that has died before. Must ask nothing here. @param handler null: nobody is told, and the
    /// process ends when the launcher is gone, as it does before the first call
    using loss_handler = void (*)(std::optional<std::uint32_t> process, const char* why);
    void on_loss(loss_handler handler);

private:
    launcher_link() = default;
    result<launcher_link*> with_place();
    result<launch_place> ask_place();
    std::vector<std::uint32_t> ask_order();
    std::vector<std::optional<std::vector<std::byte>>> ask(std::span<const std::uint32_t> processes,
                                                           const std::string& key,
                                                           std::chrono::milliseconds most);
    std::uint32_t launcher_rank(std::uint32_t process) const {
        return order_.empty() ? process : order_[process];
    }

    launch_place place_;
    std::vector<std::uint32_t> order_;  ///< the launcher's number of each process; empty: the same
    std::string job_name_;
    std::mutex known_mutex_;
    std::map<std::uint32_t, std::string> known_hosts_;
};

}  // namespace selion::machine::fabric
