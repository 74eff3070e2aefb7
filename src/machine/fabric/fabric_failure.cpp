// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/knobs.hpp"
#include "machine/call_record.hpp"
#include "machine/fabric/fabric_machine.hpp"
#include "machine/process/bounded_end.hpp"
#include "machine/process/failure.hpp"
#include "machine/process/last_words.hpp"

/// How the process hears that others are gone, and ends the job: "Failure" and "Silence" in
/// protocol.md.
namespace selion::machine::fabric {
namespace {

/// Whoever is ended by the launcher needs no more words than this long.
constexpr unsigned longest_end_s = 5;

/// The machine of the job that runs, for threads of PMIx.
std::atomic<fabric_machine*> running = nullptr;

/// A sentence about the end of the job, where that is the end of one process.
std::string with_others_alive(std::string_view sentence) {
    constexpr std::string_view all = "; the job ends";
    std::string text(sentence);
    if (text.ends_with(all))
        text.replace(text.size() - all.size(), all.size(), "; the others go on");
    return text;
}

}  // namespace

std::int64_t silence_ns() { return base::knob_nanoseconds(base::knob::fabric_timeout); }

void fabric_machine::open_pulses() {
    if (place_.processes_on_host < place_.processes && silence_ns() != 0) {
        pulses_.emplace(ends_.front()->name(), goes_over_tcp(ends_.front()->provider()));
    }
}

/// Whether others are to be tried at numbers of the kernel's choice: a site whose firewall lets
/// connections pass at some numbers only names these to libfabric. @pre there are `pulses_`
bool fabric_machine::tries_connections() const {
    const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
    return pulses_->listens() &&
           std::ranges::none_of(std::array{"FI_NET_PORT_LOW_RANGE", "FI_TCP_PORT_LOW_RANGE"},
                                is_set);
}

std::function<void(std::uint32_t, const std::string&)> fabric_machine::hearing_of_barred() {
    if (!tries_connections()) return {};
    return [this](std::uint32_t process, const std::string& why) { lose_barred(process, why); };
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
            .processes = place_.processes,
            .timeout_ns = silence_ns(),
            .whom_to_ask =
                [this](std::span<const std::uint32_t> asked_before) {
                    return choose_asked(
                        place_.process, place_.processes, debtors(), asked_before,
                        [this](std::uint32_t process) {
                            // Nobody asks the dead, as nobody asks the own host.
                            const bool is_dead = deaths_ && deaths_->is_dead(process);
                            return launched_.host_of(is_dead ? place_.process : process);
                        });
                },
            .address_of = [this](std::uint32_t process) { return card_or_end(process).pulses; },
            .on_silence = [this](std::uint32_t process, const std::string& why,
                                 std::uint32_t teller) { end_for_silence(process, why, teller); },
            .on_barred = hearing_of_barred()});
    if (!deaths_) return;
    others_->hear_of_deaths(
        {.all_dead = [this] { return deaths_->all(); },
         .on_death =
             [this](std::uint32_t process) {
                 deaths_->note(process,
                               "others say so, who have no sign of life of it, or no "
                               "connection to it");
             },
         .on_silence = [this](
                           std::uint32_t process,
                           const std::string& why) { deaths_->note(process, no_sign_text(why)); },
         .all_beside =
             [this](std::uint32_t process) {
                 const std::string host = launched_.host_of(process);
                 std::vector<std::uint32_t> all;
                 for (std::uint32_t other = 0; other < place_.processes; ++other) {
                     if (launched_.host_of(other) == host) all.push_back(other);
                 }
                 return all;
             }});
}

bool fabric_machine::are_leaving() {
    return std::ranges::all_of(
        ranks_, [](fabric_rank& rank) { return look_at(rank.context().call->is_leaving) != 0; });
}

/// The kernel tells of those of the own host, and the launcher, the network and others of the rest.
void fabric_machine::watch_deaths() {
    if (terms_.reports_deaths == 0) return;
    deaths_.emplace(process_deaths::surroundings{
        .own_process = place_.process,
        .processes = place_.processes,
        .name_of = [this](std::uint32_t process) { return places_.name_of_process(process); },
        .on_death =
            [this](std::uint32_t process) {
                for (fabric_rank& rank : ranks_) rank.lose(places_.of_process(process));
            },
        .are_leaving = [this] { return are_leaving(); },
        // The others live, so the launcher is not asked to end them.
        .end_self =
            [] {
                say_last_words();
                leave_within(longest_end_s, 1);
                std::fflush(nullptr);
                _exit(1);
            }});
    for (const auto& [process, number] : share_.seen_beside()) deaths_->watch(process, number);
}

void fabric_machine::end_for_silence(std::uint32_t process, const std::string& why,
                                     std::uint32_t teller) {
    end_job({places_.of_process(process).first,
             silence_text(places_.name_of_process(place_.process), places_.name_of_process(process),
                          teller == place_.process, why),
             {}});
}

/// Both find it out at a time. Where the job goes on they must not take each other for dead, since
/// either would hear of it: the one with the lower number goes on.
void fabric_machine::lose_barred(std::uint32_t process, const std::string& why) {
    const std::string sentence = no_connection_text(why);
    if (deaths_) return deaths_->note(std::max(process, place_.process), sentence);
    end_job({places_.of_process(process).first,
             fmt::format("{} cannot reach {}: {}; the job ends",
                         places_.name_of_process(place_.process), places_.name_of_process(process),
                         sentence),
             {}});
}

fabric_machine::loss_hearing::loss_hearing(fabric_machine& own) : launched_(own.launched_) {
    running.store(&own, std::memory_order_relaxed);
    launched_.on_loss(&fabric_machine::on_loss);
}

fabric_machine::loss_hearing::~loss_hearing() {
    launched_.on_loss(nullptr);
    running.store(nullptr, std::memory_order_relaxed);
}

void fabric_machine::end_job(const failure& why) {
    std::uint32_t nobody = 0;
    const bool is_first =
        std::atomic_ref(ending_).compare_exchange_strong(nobody, 1, std::memory_order_relaxed);
    // Whoever is late leaves the ending to the first, whose words must not be cut off.
    while (!is_first && !is_in_error_handler()) pause();
    if (deaths_) {
        // A launcher that goes on without a rank would not end the others.
        const std::string sentence = with_others_alive(why.sentence);
        announce({why.rank, sentence, why.site});
    } else {
        announce(why);
    }
    say_last_words();
    // Another thread may hold a stream's lock, and the launcher be slow; then the alarm ends it.
    leave_within(longest_end_s, 1);
    std::fflush(nullptr);
    if (!deaths_) launched_.abort(1);
    _exit(1);
}

/// On a thread of PMIx, which must not be asked anything here. One process speaks for all.
void fabric_machine::on_loss(std::optional<std::uint32_t> process, const char* why) {
    fabric_machine* const own = running.load(std::memory_order_relaxed);
    // acquire: what notes deaths, if anything does [fabric.start]
    const bool has_started = own->has_started_.load(std::memory_order_acquire);
    if (process && has_started && own->deaths_) return own->deaths_->note(*process, why);
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
        announce({lost.first,
                  fmt::format("{} has died{} ({}); the job ends", who,
                              has_started ? "" : " while ranks start", why),
                  {}});
    }
    _exit(1);
}

}  // namespace selion::machine::fabric
