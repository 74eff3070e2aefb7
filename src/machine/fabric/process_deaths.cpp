// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/process_deaths.hpp"

#include <fmt/format.h>

#include "base/log.hpp"

namespace selion::machine::fabric {

process_deaths::process_deaths(surroundings around)
    : around_(std::move(around)), is_dead_(around_.processes) {}

void process_deaths::note(std::uint32_t process, std::string_view why) {
    add(process, why);
    processes_.ring();
}

void process_deaths::add(std::uint32_t process, std::string_view why) {
    const bool is_own = process == around_.own_process;
    {
        const std::lock_guard lock(mutex_);
        if (!is_own) {
            if (is_dead_[process].exchange(true, std::memory_order_relaxed)) return;
            in_order_.push_back(process);
        }
        unspoken_.push_back({process, std::string(why)});
    }
    if (!is_own) around_.on_death(process);
}

std::vector<std::uint32_t> process_deaths::all() const {
    const std::lock_guard lock(mutex_);
    return in_order_;
}

void process_deaths::watch(std::uint32_t process, std::int32_t number) {
    if (!processes_.add(process, number)) note(process, "its process has ended");
}

/// One of those who live speaks for all of them.
bool process_deaths::speaks() const {
    std::uint32_t lowest = 0;
    while (is_dead(lowest)) ++lowest;
    return lowest == around_.own_process;
}

void process_deaths::look() {
    processes_.take([&](std::uint32_t process) { add(process, "its process has ended"); });
    while (true) {
        unspoken next{};
        {
            const std::lock_guard lock(mutex_);
            if (unspoken_.empty()) return;
            next = std::move(unspoken_.front());
            unspoken_.pop_front();
        }
        const std::string who = around_.name_of(next.process);
        if (next.process == around_.own_process) {
            base::say(fmt::format("{} is taken for dead by others and ends: {}", who, next.why));
            around_.end_self();
        }
        // Whoever goes when all want to go has not died.
        if (around_.are_leaving() || !speaks()) continue;
        base::say(fmt::format("{} has died: {}; the others go on", who, next.why));
    }
}

}  // namespace selion::machine::fabric
