// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "machine/machine.hpp"
#include "machine/node/job_setting.hpp"
#include "machine/node/node_services.hpp"
#include "machine/node/rank_host.hpp"
#include "machine/node/shared_mapping.hpp"

namespace selion::machine::node {

/// What the machines of one host have in common: a mapping, the ranks of this process, and how to
/// end them. How ranks are started differs.
class node_machine : public machine, protected launcher {
public:
    explicit node_machine(job_setting setting) : setting_(std::move(setting)) {}

    const machine_description& description() const override { return setting_.description; }
    selion::thread_level thread_level() const override;
    class launcher& launcher() override { return *this; }
    class memory& memory() override { return *memory_; }

    [[noreturn]] void end_job(const failure& why) override;
    waiter* join_thread(detail::rank_context& context) override;
    void leave_thread(waiter* own) override;
    bool call_beside(detail::rank_context& context, void (*function)(detail::rank_context&, void*),
                     void* argument) override;
    std::string binding_report() const override;
    std::uint32_t place_of(const detail::rank_context& context, locality where) override;

protected:
    /// Takes a mapping into use for the ranks of one process.
    void use(shared_mapping mapping, std::uint32_t process);
    /// Says what was chosen, for SELION_VERBOSE.
    void say_choices() const;

    job_setting setting_;
    std::optional<shared_mapping> mapping_;
    std::unique_ptr<mapped_memory> memory_;
    std::unique_ptr<rank_host> ranks_;

private:
    std::atomic<rank_host*> used_ = nullptr;  ///< for threads that are none of the ranks'
};

}  // namespace selion::machine::node
