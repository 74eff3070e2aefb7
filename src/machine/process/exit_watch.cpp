// SPDX-License-Identifier: Apache-2.0
#include "machine/process/exit_watch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>

#include "machine/call_record.hpp"
#include "machine/machine.hpp"
#include "machine/process/failure.hpp"
#include "machine/process/last_words.hpp"
#include "selion/detail/rank_context.hpp"

namespace selion::machine {
namespace {

std::uint32_t* watched = nullptr;
pid_t watching_process = 0;

std::string sentence_of(const detail::rank_context& context, int status) {
    if (context.ranks == 0) {
        return fmt::format("a thread of the program called exit({}) while a job ran; the job ends",
                           status);
    }
    return fmt::format("rank {} of {} called exit({}) before its function returned, {}; {}",
                       context.rank, context.ranks, status, last_call_text(*context.call),
                       context.deaths != nullptr ? "the others go on" : "the job ends");
}

void on_exit_of_process(int status, void*);

/// Where time is virtual, others may end the job before the rank's time: by an exit, too, which
/// finds this function only if it is registered again.
void let_earlier_ones_come(detail::rank_context& context) {
    static_cast<void>(on_exit(on_exit_of_process, nullptr));
    context.clock->fall_in(context);
}

void on_exit_of_process(int status, void*) {
    // A process that a rank has forked may come and go.
    if (watched == nullptr || watching_process != getpid()) return;
    detail::rank_context& context = *detail::current_context;
    if (context.ranks != 0 && !is_in_error_handler()) let_earlier_ones_come(context);
    std::uint32_t nobody = 0;
    const bool is_first =
        std::atomic_ref(*watched).compare_exchange_strong(nobody, 1, std::memory_order_relaxed);
    // Whoever is late leaves the ending to the first, whose words must not be cut off.
    while (!is_first && !is_in_error_handler()) pause();
    std::optional<rank_id> rank;
    if (context.ranks != 0) rank = context.rank;
    announce({rank, sentence_of(context, status), {}});
    say_last_words();
    flush_and_leave((status & 0xff) != 0 ? status & 0xff : 1);
}

}  // namespace

exit_watch::exit_watch(std::uint32_t& ending) {
    static const bool is_registered = on_exit(on_exit_of_process, nullptr) == 0;
    static_cast<void>(is_registered);
    watching_process = getpid();
    watched = &ending;
}

exit_watch::~exit_watch() { watched = nullptr; }

}  // namespace selion::machine
