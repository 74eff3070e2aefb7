// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "machine/node/post_office.hpp"
#include "machine/node/shared_mapping.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::machine::node {

/// A thread of a process that serves messages to ranks which compute (progress=interrupt). It
/// sleeps until a message comes to a room that no thread of its ranks attends. See messages.md.
class notifier {
public:
    /// @param context of some rank of the process: its machine's parts are used.
    /// @param bell_number of the doorbell that it sleeps on.
    notifier(const shared_mapping& mapping, post_office& office,
             const detail::rank_context& context, std::uint32_t bell_number);
    /// Ends the thread.
    ~notifier();
    notifier(const notifier&) = delete;
    notifier& operator=(const notifier&) = delete;

private:
    void run();
    bool serve_rooms();
    bool has_work();
    bool linger();
    void sleep();

    const shared_mapping& mapping_;
    post_office& office_;
    detail::rank_context context_;  ///< its own copy
    std::uint32_t bell_number_;
    std::int64_t linger_ns_;
    detail::turn_record turns_{};
    std::atomic<bool> is_ending_ = false;
    std::thread thread_;
};

}  // namespace selion::machine::node
