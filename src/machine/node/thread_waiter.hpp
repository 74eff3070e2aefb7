// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/node/doorbell.hpp"
#include "machine/node/patience.hpp"
#include "machine/waiter.hpp"

namespace selion::machine::node {

/// What every way of waiting on this host needs to know.
struct wait_setting {
    doorbell* bell;             ///< of the thread that may sleep
    std::uint32_t bell_number;  ///< its index in the job
    control_block* control;
    bool is_shared;  ///< words are used by several processes
    patience how_long;
};

/// A thread that runs one rank, or that joined one.
class thread_waiter final : public waiter {
public:
    explicit thread_waiter(const wait_setting& setting) : setting_(setting) {}
    bool wait(const wait_request& request) override;

private:
    wait_setting setting_;
};

}  // namespace selion::machine::node
