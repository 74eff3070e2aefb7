// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "machine/fabric/batch_timer.hpp"
#include "machine/fabric/bell_pipes.hpp"
#include "machine/fabric/card_exchange.hpp"
#include "machine/fabric/endpoint.hpp"
#include "machine/fabric/fabric_rank.hpp"
#include "machine/fabric/fabric_services.hpp"
#include "machine/fabric/fabric_waiter.hpp"
#include "machine/fabric/host_share.hpp"
#include "machine/fabric/launcher_link.hpp"
#include "machine/fabric/peer_watch.hpp"
#include "machine/fabric/process_deaths.hpp"
#include "machine/fabric/rank_places.hpp"
#include "machine/machine.hpp"
#include "machine/node/job_setting.hpp"
#include "machine/node/post_office.hpp"
#include "machine/node/shared_mapping.hpp"

namespace selion::machine::fabric {

/// How long others may be silent; 0: for ever.
std::int64_t silence_ns();

/// Everything of one job in one process.
class fabric_machine final : public machine, launcher {
public:
    fabric_machine(node::job_setting setting, launcher_link& launched)
        : setting_(std::move(setting)),
          launched_(launched),
          place_(launched.place()),
          places_(launched, setting_.shape.ranks_per_process),
          share_(place_, [this](std::uint32_t process) { return cards_->read(process).share; }) {}

    const machine_description& description() const override { return setting_.description; }
    selion::thread_level thread_level() const override { return thread_level_; }
    class launcher& launcher() override { return *this; }
    class memory& memory() override { return *memory_; }

    int run(const job& work) override;
    bool is_first_process() const override { return place_.process == 0; }
    [[noreturn]] void end_job(const failure& why) override;
    waiter* join_thread(detail::rank_context& context) override;
    void leave_thread(waiter* own) override;
    bool call_beside(detail::rank_context& context, void (*function)(detail::rank_context&, void*),
                     void* argument) override {
        return rank_of(context).call_beside(function, argument);
    }
    std::string binding_report() const override;
    std::uint32_t place_of(const detail::rank_context& context, locality where) override;

private:
    void open_endpoints();
    job_terms choose_terms(selion::thread_level level);
    process_card card_or_end(std::uint32_t process);
    rank_contact contact_of(std::uint32_t rank);
    std::vector<rank_contact> own_contacts() const;
    void open_pulses();
    bool tries_connections() const;
    std::function<void(std::uint32_t process, const std::string& why)> hearing_of_barred();
    void lose_barred(std::uint32_t process, const std::string& why);
    void watch_others();
    void watch_deaths();
    bool are_leaving();
    std::vector<std::uint32_t> debtors();
    [[noreturn]] void end_for_silence(std::uint32_t process, const std::string& why,
                                      std::uint32_t teller);
    [[noreturn]] void end_for_hang() {
        end_job({{}, "SELION_HANG_ACTION=abort: the job ends", {}});
    }
    void gather_cards();
    void exchange_cards(selion::thread_level level);
    void make_memory();
    void make_ranks(const job& work);
    int run_ranks(const job& work);
    void warn_of_network() const;
    void report_strange_pulses() const;
    void run_rank(const job& work, fabric_rank& rank);
    void leave_together(fabric_rank& rank);
    fabric_rank& rank_of(const detail::rank_context& context) {
        return ranks_[context.rank - places_.own().first];
    }
    /// While it lives, its machine is the one that hears of losses.
    class loss_hearing {
    public:
        explicit loss_hearing(fabric_machine& own);
        ~loss_hearing();
        loss_hearing(const loss_hearing&) = delete;
        loss_hearing& operator=(const loss_hearing&) = delete;

    private:
        launcher_link& launched_;
    };
    static void on_loss(std::optional<std::uint32_t> process, const char* why);

    node::job_setting setting_;
    launcher_link& launched_;
    const launch_place& place_;  ///< processes are numbered anew when the cards are exchanged
    rank_places places_;
    selion::thread_level thread_level_ = selion::thread_level::single;
    std::optional<card_exchange> cards_;
    job_terms terms_;
    std::uint32_t ending_ = 0;
    std::vector<std::unique_ptr<endpoint>> ends_;  ///< of each rank, until it has its own
    host_share share_;
    std::optional<pulse_socket> pulses_;  ///< if there are other hosts
    std::optional<peer_watch> others_;
    std::optional<process_deaths> deaths_;   ///< if they do not end the job
    std::atomic<bool> has_started_ = false;  ///< until then they do
    std::optional<node::shared_mapping> mapping_;
    std::unique_ptr<fabric_memory> memory_;
    std::optional<bell_pipes> pipes_;
    std::vector<detail::rank_context> contexts_;
    std::optional<node::post_office> office_;  ///< of messages to ranks that share memory
    std::deque<fabric_rank> ranks_;
    std::optional<batch_timer> batches_;  ///< if small frames leave together
    std::mutex join_mutex_;
    std::vector<std::optional<fabric_waiter>> joined_;  ///< of threads that have joined a rank
    std::atomic<std::uint32_t> leaving_ = 0;            ///< ranks that want nothing more
    std::atomic<bool> has_ended_ = false;               ///< for the ranks of all processes
    std::atomic<int> status_ = 0;
};

}  // namespace selion::machine::fabric
