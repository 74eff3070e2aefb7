// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "machine/machine.hpp"
#include "machine/node/job_setting.hpp"
#include "machine/node/node_services.hpp"
#include "machine/node/shared_mapping.hpp"
#include "machine/node/side_thread.hpp"
#include "machine/node/thread_waiter.hpp"
#include "selion/error.hpp"

namespace selion::machine::node {

/// What to tell when a thread cannot be made as a job begins.
error no_thread(const std::system_error& why);

/// The ranks of one process: their contexts, their carrier threads, and threads that join them.
class rank_host {
public:
    /// @param process index of the calling process within the job.
    rank_host(const job_setting& setting, const shared_mapping& mapping, machine& owner,
              std::uint32_t process);

    /// Runs this process's ranks to their end. A single carrier runs on the calling thread when
    /// `may_use_caller`. @return the first non-zero status that a rank returned, else 0.
    int run(const job& work, bool may_use_caller);

    waiter* join_thread(const detail::rank_context& context);
    void leave_thread(waiter* own);
    bool call_beside(const detail::rank_context& context,
                     void (*function)(detail::rank_context&, void*), void* argument);
    [[noreturn]] void end_job(const failure& why);
    std::string binding_report() const;
    std::uint32_t place_of(const detail::rank_context& context, locality where) const;

private:
    void prepare(detail::rank_context& context, std::uint32_t local_rank);
    void run_carrier(const job& work, std::uint32_t carrier);
    void run_rank(const job& work, detail::rank_context& context);
    wait_setting waiting_of(std::uint32_t bell, mail_room* mail) const;

    const job_setting& setting_;
    const shared_mapping& mapping_;
    machine& owner_;
    std::uint32_t process_;
    node_clock clock_;
    post_office office_;
    mapped_transport transport_;
    std::vector<detail::rank_context> contexts_;
    std::vector<std::uint32_t> first_rank_;  ///< of each carrier, local; one more at the end
    std::mutex join_mutex_;
    std::vector<thread_waiter> joined_;
    std::vector<bool> is_joined_;
    /// Of each rank of the process, from the first call that it makes.
    std::vector<std::unique_ptr<side_thread>> beside_;
};

}  // namespace selion::machine::node
