// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <span>

#include "base/knobs.hpp"
#include "machine/fabric/fabric_machine.hpp"
#include "machine/failure.hpp"
#include "machine/last_words.hpp"

/// How the process hears that others are gone, and ends the job: "Failure" and "Silence" in
/// protocol.md.
namespace selion::machine::fabric {
namespace {

/// Whoever is ended by the launcher needs no more words than this long.
constexpr unsigned longest_end_s = 5;

/// The machine of the job that runs, for threads of PMIx.
std::atomic<fabric_machine*> running = nullptr;

}  // namespace

std::int64_t silence_ns() {
    return static_cast<std::int64_t>(base::knob_seconds(base::knob::fabric_timeout) * 1e9);
}

void fabric_machine::open_pulses() {
    if (place_.processes_on_host < place_.processes && silence_ns() != 0) {
        pulses_.emplace(ends_.front()->name());
    }
}

/// Processes some of whose ranks are not known to have taken all that was sent to them.
std::vector<std::uint32_t> fabric_machine::debtors() {
    std::vector<std::uint32_t> found;
    for (fabric_rank& rank : ranks_) {
        for (const std::uint32_t other : rank.debtors()) {
            found.push_back(places_.process_of(other));
        }
    }
    return found;
}

/// On the thread of the `job_watch`, from now on.
void fabric_machine::watch_others() {
    if (!pulses_) return;
    others_.emplace(
        *pulses_,
        peer_watch::surroundings{
            .secret = terms_.secret,
            .own_process = place_.process,
            .timeout_ns = silence_ns(),
            .whom_to_ask =
                [this](std::span<const std::uint32_t> asked_before) {
                    return choose_asked(
                        place_.process, place_.processes, debtors(), asked_before,
                        [this](std::uint32_t process) { return launched_.host_of(process); });
                },
            .address_of = [this](std::uint32_t process) { return card_or_end(process).pulses; },
            .on_silence = [this](std::uint32_t process, const std::string& why,
                                 std::uint32_t teller) { end_for_silence(process, why, teller); }});
}

void fabric_machine::end_for_silence(std::uint32_t process, const std::string& why,
                                     std::uint32_t teller) {
    end_job({places_.of_process(process).first,
             silence_text(places_.name_of_process(place_.process), places_.name_of_process(process),
                          teller == place_.process, why),
             {}});
}

void fabric_machine::begin_to_hear_of_losses() {
    running.store(this, std::memory_order_relaxed);
    launched_.on_loss(on_loss);
}

void fabric_machine::end_hearing_of_losses() { running.store(nullptr, std::memory_order_relaxed); }

void fabric_machine::end_job(const failure& why) {
    std::uint32_t nobody = 0;
    const bool is_first =
        std::atomic_ref(ending_).compare_exchange_strong(nobody, 1, std::memory_order_relaxed);
    // Whoever is late leaves the ending to the first, whose words must not be cut off.
    while (!is_first && !is_in_error_handler()) pause();
    announce(why);
    say_last_words();
    // Another thread may hold a stream's lock, and the launcher be slow; then the alarm ends it.
    alarm(longest_end_s);
    std::fflush(nullptr);
    launched_.abort(1);
    _exit(1);
}

/// On a thread of PMIx, which must not be asked anything here. One process speaks for all.
void fabric_machine::on_loss(std::optional<std::uint32_t> process, const char* why) {
    fabric_machine* const own = running.load(std::memory_order_relaxed);
    if (own == nullptr) return;
    std::uint32_t nobody = 0;
    if (!std::atomic_ref(own->ending_)
             .compare_exchange_strong(nobody, 1, std::memory_order_relaxed)) {
        return;
    }
    const std::uint32_t speaker = process && *process == 0 ? 1 : 0;
    const std::uint32_t ranks = own->places_.ranks();
    const std::uint32_t own_rank = own->places_.own().first;
    if (!process) {
        announce({own_rank,
                  fmt::format("rank {} of {} on host {}: the launcher is gone ({}); the job ends",
                              own_rank, ranks, own->place_.host, why),
                  {}});
    } else if (own->place_.process == speaker) {
        const rank_range lost = own->places_.of_process(*process);
        const std::string who = lost.count == 1
                                    ? fmt::format("rank {} of {}", lost.first, ranks)
                                    : fmt::format("the process of ranks {} to {} of {}", lost.first,
                                                  lost.first + lost.count - 1, ranks);
        announce({lost.first, fmt::format("{} has died ({}); the job ends", who, why), {}});
    }
    _exit(1);
}

}  // namespace selion::machine::fabric
