// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/perturbation.hpp"

#include <algorithm>

namespace selion::machine::sim {

namespace {

/// What a drawn number is compared with.
std::uint64_t threshold_of(double probability) {
    constexpr double two_to_64 = 18446744073709551616.0;
    const double threshold = probability * two_to_64;
    return threshold >= two_to_64 ? UINT64_MAX : static_cast<std::uint64_t>(threshold);
}

}  // namespace

perturbation::perturbation(const run_setting& setting, tick_length tick, ticks retransmission)
    : is_on_(setting.explore != exploration::off || setting.delay_probability > 0 ||
             setting.loss_probability > 0),
      how_(setting.explore),
      delay_(tick.from_ps(setting.delay_ps)),
      delay_threshold_(threshold_of(setting.delay_probability)),
      loss_threshold_(threshold_of(setting.loss_probability)),
      retransmission_(retransmission),
      state_(setting.seed) {
    next_late_ = draw() % 64;
}

/// SplitMix64 (Steele, Lea and Flood, 2014): every seed gives a good sequence.
std::uint64_t perturbation::draw() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

ticks perturbation::explored_lateness(ticks flight) {
    // Beyond that, what follows from it would not fit.
    flight = std::clamp<ticks>(flight, 1, longest_time / 1024);
    ticks late = 0;
    if (how_ == exploration::random) {
        // Mostly a little, sometimes much: 2^-k of them are late by up to 2^k times the usual.
        const std::uint64_t bits = draw();
        const unsigned scale = static_cast<unsigned>(__builtin_ctzll(bits | 256));
        late += static_cast<ticks>((bits >> 16) % (static_cast<std::uint64_t>(flight) << scale));
    } else if (how_ == exploration::delays && messages_ == next_late_) {
        late += flight * 1000;
        next_late_ = messages_ + 1 + draw() % 1024;
    }
    ++messages_;
    return late;
}

/// What the network does to it. A lost message is sent again when its sender's timer goes off next,
/// which all ranks count from the start of the run.
ticks perturbation::arrival_by_wires(ticks now, ticks flight) {
    while (happens(loss_threshold_)) {
        const ticks last_round = (now - flight) / retransmission_ * retransmission_;
        now = later(later(last_round, retransmission_), flight);
    }
    return happens(delay_threshold_) ? later(now, delay_) : now;
}

perturbation::arrival_time perturbation::arrival(const passage& what) {
    const auto [from, to, now, flight, has_wires] = what;
    const ticks there = has_wires ? arrival_by_wires(now, flight) : now;
    const auto [found, is_first] = last_arrival_.try_emplace(std::uint64_t{from} << 32 | to, 0);
    ticks& last = found->second;
    const ticks by_itself = there + explored_lateness(flight);
    const bool is_behind = !is_first && last >= by_itself;
    last = std::max(last, by_itself);
    return {last, is_behind};
}

}  // namespace selion::machine::sim
