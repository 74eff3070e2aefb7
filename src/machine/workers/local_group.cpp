// SPDX-License-Identifier: Apache-2.0
#include "machine/workers/local_group.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "machine/node/binding.hpp"
#include "machine/workers/worker_loop.hpp"
#include "selion/machines.hpp"

namespace selion::machine::workers {
namespace {

/// For what a program does when it ends: writes files, joins threads.
constexpr std::chrono::seconds patience_at_end{10};
constexpr std::int64_t patience_at_start_ns = 60'000'000'000;

/// Where somebody else needs the processor: about as long as it takes to wake a sleeper. Who yields
/// for longer takes a good part of it from those who work.
constexpr waiting_policy waiting_without_cores{0, 50'000};

/// Where all have a processor, those who wait spin.
waiting_policy choose_waiting(const group_plan& plan) {
    if (plan.waiting) return *plan.waiting;
    if (plan.workers >= usable_cores()) return waiting_without_cores;
    return {node::patience_with_cores.spin_ns, node::patience_with_cores.yield_ns};
}

/// A name without a slash is looked for in PATH; others begin in the working directory of now,
/// which a successor may not have.
std::vector<std::string> from_the_root(std::vector<std::string> command) {
    if (command.empty() || command.front().find('/') == std::string::npos) return command;
    std::error_code trouble;  // then it stays as it is
    const std::filesystem::path whole = std::filesystem::absolute(command.front(), trouble);
    if (!trouble) command.front() = whole.string();
    return command;
}

std::shared_ptr<pool_memory> make_memory(const group_plan& plan) {
    result<pool_memory> made = pool_memory::create({.workers = plan.workers,
                                                    .shared_bytes = plan.shared_bytes,
                                                    .memory_bytes = plan.memory_bytes,
                                                    .is_file = plan.are_processes,
                                                    .measures = plan.measures,
                                                    .waiting = choose_waiting(plan)});
    if (!made) throw made.trouble();
    return std::make_shared<pool_memory>(std::move(made).value());
}

/// The routines of a worker that is ready, encoded.
std::string_view list_of(const worker_area& area) { return {area.list.data(), area.list_bytes}; }

bool is_ready(const worker_area& area) {
    // acquire: the list of routines is there with the flag [worker.ready]
    return std::atomic_ref(const_cast<std::uint32_t&>(area.is_ready))
               .load(std::memory_order_acquire) != 0;
}

}  // namespace

local_group::local_group(group_plan plan)
    : plan_(std::move(plan)),
      start_{.command = from_the_root(plan_.command)},
      memory_(make_memory(plan_)),
      own_(own_routines()),
      threads_(plan_.are_processes ? 0 : plan_.workers),
      processes_(plan_.are_processes ? plan_.workers : 0),
      last_turns_(plan_.workers, 0),
      successions_(plan_.workers) {
    const waiting_policy& how = memory_->head().waiting;
    patience_ = {how.spin_ns, how.yield_ns};
    try {
        for (std::uint32_t worker = 0; worker < plan_.workers; ++worker) start(worker);
        for (std::uint32_t worker = 0; worker < plan_.workers; ++worker) await_start(worker);
    } catch (...) {
        stop_all();
        throw;
    }
    routines_ = plan_.are_processes ? decode_list(list_of(area(0))) : shapes_of(own_);
}

local_group::~local_group() { stop_all(); }

void local_group::start(std::uint32_t worker) {
    last_turns_[worker] = 0;
    const node::unbound_scope free_to_move;
    if (plan_.are_processes) {
        processes_[worker] = std::make_unique<worker_process>(worker, start_, memory_->file());
        return;
    }
    try {
        threads_[worker] = std::thread([this, worker] {
            serve_calls({area(worker), memory_->head(), nullptr, worker, false}, own_);
        });
    } catch (const std::system_error& trouble) {
        throw error(status::system_failure,
                    fmt::format("cannot start worker {}, a thread: {}; make a pool of fewer, or "
                                "raise `ulimit -u`",
                                worker, trouble.code().message()));
    }
}

void local_group::tell_processor() const {
    std::atomic_ref(memory_->head().host_processor)
        .store(sched_getcpu(), std::memory_order_relaxed);
}

void local_group::await_start(std::uint32_t worker) {
    if (!plan_.are_processes) return;
    const std::int64_t deadline_ns = node::steady_now_ns() + patience_at_start_ns;
    while (!has_started(worker, deadline_ns)) {
        rest(deadline_ns, true, [&] { return is_ready(area(worker)); });
    }
}

/// @error system_failure: it has ended instead, or the time is over.
bool local_group::has_started(std::uint32_t worker, std::int64_t deadline_ns) {
    if (is_ready(area(worker))) {
        expect_same_routines(worker);
        return true;
    }
    if (const auto end = processes_[worker]->ending()) {
        throw error(status::system_failure,
                    fmt::format("worker {} {} before it was ready; a worker's program calls "
                                "selion::run or selion::serve_as_worker",
                                worker, *end));
    }
    if (node::steady_now_ns() < deadline_ns) return false;
    throw error(status::system_failure,
                fmt::format("worker {} was not ready within a minute; a worker's program calls "
                            "selion::run or selion::serve_as_worker",
                            worker));
}

/// Calls name routines by their place in the list. @error system_failure
void local_group::expect_same_routines(std::uint32_t worker) {
    const std::string_view list = list_of(area(worker));
    if (list_.empty()) list_ = list;
    if (list == list_) return;
    throw error(status::system_failure,
                fmt::format("worker {} has other routines than those before it: its program has "
                            "changed since the pool was made; make another pool",
                            worker));
}

void local_group::stop_all() {
    for (std::uint32_t worker = 0; worker < plan_.workers; ++worker) {
        // A successor that is still starting has done nothing that it would have to end well.
        const bool is_starting = successions_[worker].now == succession::step::starting;
        if (is_starting && !is_ready(area(worker))) processes_[worker].reset();
        const std::uint64_t turn = last_turns_[worker] + 1;
        area(worker).request(turn).routine = stop_routine;
        publish(worker, turn);
    }
    for (std::thread& one : threads_) {
        if (one.joinable()) one.join();
    }
    const std::int64_t deadline_ns =
        node::steady_now_ns() + std::chrono::nanoseconds(patience_at_end).count();
    for (std::uint32_t worker = 0; worker < processes_.size(); ++worker) {
        if (processes_[worker] == nullptr) continue;
        const std::chrono::nanoseconds left(deadline_ns - node::steady_now_ns());
        if (processes_[worker]->join(std::chrono::duration_cast<std::chrono::milliseconds>(left)))
            continue;
        base::say(fmt::format("worker {} had not ended {} s after its pool, and is killed", worker,
                              patience_at_end.count()));
    }
    processes_.clear();
}

std::span<std::byte> local_group::memory(std::uint32_t worker) const {
    return {memory_->memory(worker), memory_->head().memory_bytes};
}

std::uint64_t local_group::place_of_own(std::uint32_t worker, std::uint64_t offset) const {
    if (plan_.are_processes) return memory_->memory_place() + offset;
    return reinterpret_cast<std::uint64_t>(memory_->memory(worker) + offset);
}

std::optional<std::uint64_t> local_group::place_of(const void* address, std::size_t bytes) const {
    const auto place = reinterpret_cast<std::uint64_t>(address);
    if (!plan_.are_processes) return place;
    const std::uint64_t offset = place - reinterpret_cast<std::uint64_t>(memory_->start());
    if (offset >= memory_->head().shared_bytes || memory_->head().shared_bytes - offset < bytes) {
        return std::nullopt;
    }
    return offset;
}

void local_group::publish(std::uint32_t worker, std::uint64_t turn) {
    worker_area& own = area(worker);
    last_turns_[worker] = turn;
    write_turn(own.request(turn).turn, turn);
    ring_bell(own.bell, plan_.are_processes);
}

std::optional<std::string> local_group::ending(std::uint32_t worker) {
    if (!plan_.are_processes || processes_[worker] == nullptr) return std::nullopt;
    if (successions_[worker].now != succession::step::none) return std::nullopt;  // it may
    return processes_[worker]->ending();
}

void local_group::kill_all() {
    for (std::unique_ptr<worker_process>& one : processes_) one.reset();
    successions_.assign(plan_.workers, {});
}

void local_group::replace(std::uint32_t worker) {
    processes_[worker].reset();
    memory_->clear(worker);
    start(worker);
    successions_[worker] = {succession::step::starting,
                            node::steady_now_ns() + patience_at_start_ns};
}

void local_group::renew(std::uint32_t worker) {
    const std::uint64_t turn = last_turns_[worker] + 1;
    area(worker).request(turn).routine = stop_routine;
    publish(worker, turn);
    successions_[worker] = {
        succession::step::leaving,
        node::steady_now_ns() + std::chrono::nanoseconds(patience_at_end).count()};
}

bool local_group::is_there(std::uint32_t worker) {
    succession& own = successions_[worker];
    try {
        if (own.now == succession::step::leaving) take_step(worker);
        if (own.now == succession::step::none) return true;
        if (own.now == succession::step::leaving || !has_started(worker, own.deadline_ns))
            return false;
    } catch (...) {
        processes_[worker].reset();
        own = {};
        throw;
    }
    own = {};
    return true;
}

/// Starts the successor, if the one before has ended: both have the same part of the memory.
void local_group::take_step(std::uint32_t worker) {
    succession& own = successions_[worker];
    if (!processes_[worker]->ending()) {
        if (node::steady_now_ns() < own.deadline_ns) return;
        base::say(fmt::format("worker {} had not ended {} s after its last call, and is killed",
                              worker, patience_at_end.count()));
    }
    processes_[worker].reset();
    memory_->clear(worker);
    start(worker);
    own = {succession::step::starting, node::steady_now_ns() + patience_at_start_ns};
}

}  // namespace selion::machine::workers
