// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "machine/machine.hpp"
#include "machine/node/patience.hpp"
#include "machine/workers/pool_memory.hpp"
#include "machine/workers/process_mark.hpp"
#include "machine/workers/routine_list.hpp"
#include "machine/workers/worker_bell.hpp"
#include "machine/workers/worker_process.hpp"

namespace selion::machine::workers {

/// What workers on the host's own computer are to be.
struct group_plan {
    std::uint32_t workers = 0;
    bool are_processes = false;
    std::uint64_t shared_bytes = 0;
    std::uint64_t memory_bytes = 0;
    bool measures = false;
    std::vector<std::string> command;  ///< of processes; empty: this program
    /// How long workers, and the host, stay awake; nothing: as the processors suggest.
    std::optional<waiting_policy> waiting;
};

/// Workers on the host's own computer: threads of this process, or processes. Belongs to one
/// thread.
class local_group {
public:
    /// Starts them all. @error system_failure, out_of_memory.
    explicit local_group(group_plan plan);
    local_group(const local_group&) = delete;
    local_group& operator=(const local_group&) = delete;
    /// Processes that have not ended 10 s later are killed, and that is said.
    /// @pre no call is under way, and `is_own`.
    ~local_group();

    std::uint32_t size() const { return plan_.workers; }
    bool measures() const { return plan_.measures; }
    bool are_processes() const { return plan_.are_processes; }
    /// Whether this process has made it, and not the one that has forked this one.
    bool is_own() const { return mark_.is_own(); }
    /// What the workers' program can do; numbers of calls are places in it.
    const std::vector<routine_shape>& routines() const { return routines_; }

    worker_area& area(std::uint32_t worker) const { return memory_->area(worker); }
    std::span<std::byte> memory(std::uint32_t worker) const;
    std::span<std::byte> shared() const { return {memory_->shared(), memory_->shared_bytes()}; }
    /// Keeps the memory mapped, also when the group has ended.
    std::shared_ptr<void> memory_life() const { return memory_; }
    /// What a worker calls a place of its memory.
    std::uint64_t place_of_own(std::uint32_t worker, std::uint64_t offset) const;
    /// What workers call an address of the host's, where they can reach it.
    std::optional<std::uint64_t> place_of(const void* address, std::size_t bytes) const;

    /// The call in the ring's slot is complete.
    void publish(std::uint32_t worker, std::uint64_t turn);
    /// Waits a while: until `has_news`, or a moment has passed and deaths are to be looked for.
    /// @param looks first stays awake for as long as the policy says, if that is longer than a
    /// moment in the waits that follow this one.
    template <class Look>
    void rest(std::int64_t deadline_ns, bool looks, Look has_news);
    /// Any thread, after it has written what `has_news` looks at.
    void wake_host() { ring_bell(memory_->head().host_bell, are_processes()); }

    /// How a worker has ended that should not have; nothing while it lives.
    std::optional<std::string> ending(std::uint32_t worker);
    /// Kills a worker process that is found to do something while it is stopped.
    template <class Question>
    void kill_if(std::uint32_t worker, Question does) {
        if (!plan_.are_processes || !processes_[worker]->stop()) return;
        if (does()) {
            processes_[worker]->kill_now();
        } else {
            processes_[worker]->go_on();
        }
    }
    /// Kills worker processes; their memory stays as they have left it.
    void kill_all();
    /// Starts another one in the place of one that has ended; it is there when `is_there` says so.
    /// Its memory is empty, and its calls are numbered from 1 again.
    /// @error system_failure: it cannot be started; the place is empty.
    void replace(std::uint32_t worker);
    /// Has a worker process that lives go: it ends by itself, and another one takes its place, in
    /// `is_there`. @pre no call of it is under way.
    void renew(std::uint32_t worker);
    /// Whether a place has its worker; after `replace` and `renew` it has not for a while, and each
    /// question takes what steps there are. Waits for nothing. A process that has not ended 10 s
    /// later is killed.
    /// @error system_failure: no other can be started; the place is empty.
    bool is_there(std::uint32_t worker);

private:
    /// How far one worker's place has come on its way to another.
    struct succession {
        enum class step { none, leaving, starting } now = step::none;
        std::int64_t deadline_ns = 0;  ///< of this step
    };
    /// Where the host waits: a worker that finds itself there makes room.
    void tell_processor() const;
    void start(std::uint32_t worker);
    void await_start(std::uint32_t worker);
    bool has_started(std::uint32_t worker, std::int64_t deadline_ns);
    void expect_same_routines(std::uint32_t worker);
    void take_step(std::uint32_t worker);
    void stop_all();

    group_plan plan_;
    worker_start start_;
    process_mark mark_;
    node::patience patience_{};
    std::int64_t spin_left_ns_ = 0;  ///< of a wait that goes on
    detail::turn_record turns_{};
    std::shared_ptr<pool_memory> memory_;
    std::vector<const detail::routine_entry*> own_;
    std::vector<routine_shape> routines_;
    std::string list_;  ///< of the first process, encoded
    std::vector<std::thread> threads_;
    std::vector<std::unique_ptr<worker_process>> processes_;
    std::vector<std::uint64_t> last_turns_;
    std::vector<succession> successions_;
};

template <class Look>
void local_group::rest(std::int64_t deadline_ns, bool looks, Look has_news) {
    constexpr std::int64_t moment_ns = 5'000'000;
    const auto is_over = [&](const node::patience& how) {
        return node::stay_awake({how, node::turn_watch(turns_), deadline_ns}, has_news) !=
               node::idle_outcome::tired;
    };
    const std::int64_t left_ns = std::exchange(spin_left_ns_, 0);
    if (looks || left_ns != 0) {
        const std::int64_t spin_ns = left_ns != 0 ? left_ns : patience_.spin_ns;
        if (is_over({std::min(spin_ns, moment_ns), 0})) return;
        if (spin_ns > moment_ns) {
            spin_left_ns_ = spin_ns - moment_ns;
            return;
        }
        tell_processor();
        if (is_over({0, patience_.yield_ns})) return;
    }
    const std::int64_t until = std::min(deadline_ns, node::steady_now_ns() + moment_ns);
    sleep_on_bell(memory_->head().host_bell, are_processes(), until, has_news);
}

}  // namespace selion::machine::workers
