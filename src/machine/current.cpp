// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "machine/call_record.hpp"
#include "machine/machine.hpp"
#include "machine/process/failure.hpp"
#include "selion/expect.hpp"

#include <fmt/format.h>

namespace selion::detail {
namespace {

/// What a thread works for that belongs to no rank: maps nothing, so every inline operation falls
/// into the slow path, which explains.
constinit rank_context nobody;

/// "file.cpp:12" of the program: a script's, where the C++ that calls is not the program's own.
std::string place_of_call(const rank_context& context, std::source_location site) {
    const bool is_script = context.ranks != 0 && context.call != nullptr &&
                           !context.is_foreign_thread && !context.own.in_handler &&
                           !machine::is_in_program(machine::encode_site(site));
    const std::string place = is_script ? machine::script_place(*context.call) : std::string();
    return place.empty() ? fmt::format("{}:{}", site.file_name(), site.line()) : place;
}

}  // namespace

constinit thread_local rank_context* current_context = &nobody;

void leave_rank() noexcept { current_context = &nobody; }

void end_job_for_bug(const std::string& sentence, std::source_location site) {
    rank_context& context = *current_context;
    machine::machine* const host = machine::active_machine();
    const std::string who = context.ranks != 0
                                ? fmt::format("rank {} of {}", context.rank, context.ranks)
                                : std::string("a thread of the program");
    const std::string text =
        fmt::format("{}: {}\n  called at {}", who, sentence, place_of_call(context, site));
    if (host != nullptr) host->launcher().end_job(context, text, site);
    machine::announce({{}, text, site});
    _exit(1);
}

}  // namespace selion::detail

namespace selion::machine {
namespace {

std::atomic<machine*> active = nullptr;
std::atomic<pid_t> process_of_job = 0;

}  // namespace

machine* active_machine() {
    // acquire: the machine and its process [job.active]
    machine* const found = active.load(std::memory_order_acquire);
    return process_of_job.load(std::memory_order_relaxed) == getpid() ? found : nullptr;
}

bool is_copy_of_job() {
    return active.load(std::memory_order_relaxed) != nullptr && active_machine() == nullptr;
}

active_job::active_job(machine& host)
    : before_(active.load(std::memory_order_relaxed)),
      process_before_(process_of_job.load(std::memory_order_relaxed)) {
    // A copy has its parent's memory, the ranks' among it, and would be taken for the rank.
    [[maybe_unused]] static const int registered =
        pthread_atfork(nullptr, nullptr, detail::leave_rank);
    process_of_job.store(getpid(), std::memory_order_relaxed);
    // release: pairs with who asks for it, of any thread [job.active]
    active.store(&host, std::memory_order_release);
}
/// A copy of a rank that had a job of its own is a copy as before.
active_job::~active_job() {
    process_of_job.store(process_before_, std::memory_order_relaxed);
    // release: as in the beginning [job.active]
    active.store(before_, std::memory_order_release);
}

std::string_view name_of(wait_reason reason) {
    switch (reason) {
        case wait_reason::collective: return "wait: collective";
        case wait_reason::signal: return "wait: signal";
        case wait_reason::counter: return "wait: counter";
        case wait_reason::message: return "wait: message";
        case wait_reason::start: return "wait: start";
        case wait_reason::end: return "wait: end";
    }
    return "wait";
}

}  // namespace selion::machine
