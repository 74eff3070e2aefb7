// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/node/doorbell.hpp"
#include "machine/node/patience.hpp"
#include "machine/node/post_office.hpp"
#include "machine/waiter.hpp"

namespace selion::machine::node {

/// What every way of waiting on this host needs to know.
struct wait_setting {
    doorbell* bell;             ///< of the thread that may sleep
    std::uint32_t bell_number;  ///< its index in the job
    control_block* control;
    bool is_shared;  ///< words are used by several processes
    patience how_long;
    mail_room* mail;  ///< that the thread serves while it waits; null: none
};

/// A thread that runs one rank, or that joined one.
class thread_waiter final : public waiter {
public:
    explicit thread_waiter(const wait_setting& setting) : setting_(setting) {}
    bool wait(const wait_request& request) override;
    void end_early() override { ends_early_ = true; }
    void set_mail(mail_room* mail) { setting_.mail = mail; }

private:
    bool wait_serving(const wait_request& request, mail_room* mail);
    template <class Look>
    void sleep(const wait_request& request, host_access& access, Look arrived);
    wait_setting setting_;
    bool ends_early_ = false;
};

}  // namespace selion::machine::node
