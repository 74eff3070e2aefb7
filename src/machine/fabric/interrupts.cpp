// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/interrupts.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "machine/node/run_soon.hpp"
#include "machine/node/turns.hpp"
#include "machine/process/crash_handler.hpp"

namespace selion::machine::fabric {
namespace {

/// How long it looks for more after it has served: twice as long each time that more came, half as
/// long each time that none did. It yields meanwhile, unless that takes
/// long because the rank computes on the same core.
constexpr std::int64_t shortest_linger_ns = 500;
constexpr std::int64_t longest_linger_ns = 20'000;
/// After which it looks again at what a thread of the rank seemed to be at.
constexpr std::int64_t attention_nap_ns = 1'000'000;
/// A file that should have told is not trusted for longer.
constexpr std::int64_t longest_rest_ns = 250'000'000;

}  // namespace

interrupts::interrupts(sleeping_place& place, const detail::rank_context& rank)
    : place_(place), context_(rank), linger_ns_(shortest_linger_ns) {
    context_.is_foreign_thread = true;
    context_.recorder = nullptr;
    place_.attention.emplace();
    thread_ = std::thread([this] { run(); });
}

interrupts::~interrupts() {
    is_ending_.store(true, std::memory_order_relaxed);
    place_.attention->ring();
    thread_.join();
}

void interrupts::run() {
    const signal_stack stack_for_signals;
    node::ask_to_run_soon();
    detail::current_context = &context_;
    while (!is_ending_.load(std::memory_order_relaxed)) {
        const bool is_attended = place_.attention->is_attended();
        if (is_attended || (!place_.serve_frames(context_) && !linger())) sleep();
    }
}

/// @return whether something came.
bool interrupts::linger() {
    node::turn_watch turns(turns_);
    const std::int64_t end_ns = node::steady_now_ns() + linger_ns_;
    do {
        if (place_.attention->is_attended()) return true;
        if (place_.serve_frames(context_)) {
            linger_ns_ = std::min(linger_ns_ * 2, longest_linger_ns);
            return true;
        }
        if (!turns.yield_if_quick()) break;
    } while (node::steady_now_ns() < end_ns);
    linger_ns_ = std::max(linger_ns_ / 2, shortest_linger_ns);
    return false;
}

/// Until something comes, or a thread of the rank leaves something behind. What comes while one
/// waits is that one's: the file of the network is left alone for the time of a nap.
void interrupts::sleep() {
    const int network = place_.frames->wait_file();
    std::array<pollfd, 2> files{pollfd{place_.attention->file(), POLLIN, 0},
                                pollfd{network, POLLIN, 0}};
    const auto wait = [&](nfds_t count, const timespec* longest) {
        ppoll(files.data(), count, longest, nullptr);
        if (files[0].revents != 0) place_.attention->hush();
    };
    constexpr timespec nap{0, attention_nap_ns};
    constexpr timespec longest{0, longest_rest_ns};
    const bool is_attended = place_.attention->is_attended();
    const bool is_told = network >= 0 && !place_.frames->is_stuck();
    if (!is_attended && (!is_told || !place_.frames->may_sleep())) return wait(1, &nap);
    wait(2, &longest);
    if (files[1].revents != 0 && place_.attention->is_attended()) wait(1, &nap);
}

}  // namespace selion::machine::fabric
