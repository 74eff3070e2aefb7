// SPDX-License-Identifier: Apache-2.0
#include "selion/offload_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "selion/error.hpp"

namespace selion {
namespace {

/// What the host does for all workers together, and for one of them.
struct transfers {
    transfers(const offload_work& work, const offload_setting& setting) {
        const double workers = setting.workers;
        const bool is_repeated = work.is_same_for_all;
        in_each = is_repeated ? work.in : work.in / workers;
        out_each = is_repeated ? work.out : work.out / workers;
        in_all = is_repeated && !setting.sends_once ? work.in * workers : work.in;
        out_all = is_repeated ? work.out * workers : work.out;
        first_in = is_repeated && setting.sends_once ? work.in : in_each;
    }
    model_time bus() const { return in_all + out_all; }

    model_time in_each;
    model_time out_each;
    model_time in_all;
    model_time out_all;
    model_time first_in;  ///< until the first worker has its arguments
};

void expect_legal(const offload_work& work, const offload_setting& setting) {
    if (setting.workers == 0) {
        throw error(status::bad_argument, "a prediction for no workers; it needs 1 at least");
    }
    const auto is_legal = [](model_time time) {
        return std::isfinite(time.count()) && time.count() >= 0;
    };
    if (is_legal(work.in) && is_legal(work.out) && is_legal(work.compute)) return;
    throw error(status::bad_argument,
                fmt::format("a prediction for {} s in, {} s out and {} s of computing; each of "
                            "them must be finite and not negative",
                            work.in.count(), work.out.count(), work.compute.count()));
}

/// A curve for more workers would take memory and time, and tell nobody anything.
constexpr std::uint32_t most_of_curve = 1u << 20;

/// One round with another number of workers.
model_time time_with(const offload_work& work, offload_setting setting, std::uint32_t workers) {
    setting.workers = workers;
    return round_time(work, setting);
}

model_time bus_time(const offload_work& work, offload_setting setting, std::uint32_t workers) {
    setting.workers = workers;
    return transfers(work, setting).bus();
}

bool is_bus_bound(const offload_work& work, const offload_setting& setting, std::uint32_t workers) {
    constexpr double rounding = 1 + 1e-12;
    const model_time bus = bus_time(work, setting, workers);
    return bus.count() > 0 && time_with(work, setting, workers) <= bus * rounding;
}

/// Side of the blocks whose computing just covers the transfers of all workers; 0: no block does
/// that could be meant.
std::uint32_t block_that_keeps_busy(const offload_work& work, const offload_setting& setting,
                                    std::uint32_t block) {
    const transfers moved(work, setting);
    const model_time computing = work.compute / setting.workers;
    if (computing.count() <= 0) return 0;
    // The share of computing grows with the side.
    const double factor = moved.bus() / computing;
    constexpr double step = 8;
    const double side = std::ceil(block * factor / step) * step;
    return side <= std::numeric_limits<std::uint32_t>::max() ? static_cast<std::uint32_t>(side) : 0;
}

/// Calls of a chunk each, one round of all workers after another.
model_time chunked_time(const chunk_cost& cost, std::size_t items, std::size_t chunk,
                        const offload_setting& setting) {
    const auto count = static_cast<double>(chunk);
    const model_time transfer = cost.call.transfer + cost.item.transfer * count;
    const model_time compute = cost.call.compute + cost.item.compute * count;
    const double workers = setting.workers;
    const offload_work round{.in = transfer * workers, .out = {}, .compute = compute * workers};
    const double calls = std::ceil(static_cast<double>(items) / count);
    // Before the first worker begins its arguments have to be there.
    return transfer + round_time(round, setting) * std::ceil(calls / workers);
}

/// In two digits; from 100 on in all of them.
std::string text_of_speedup(double times) {
    constexpr double most_of_two_digits = 99.5;
    return times < most_of_two_digits ? fmt::format("{:.2g}", times) : fmt::format("{:.0f}", times);
}

const char* count_word(std::uint32_t workers) { return workers == 1 ? "worker" : "workers"; }

}  // namespace

model_time round_time(const offload_work& work, const offload_setting& setting) {
    expect_legal(work, setting);
    const transfers moved(work, setting);
    const model_time computing = work.compute / setting.workers;
    switch (setting.pattern) {
        case call_pattern::plain: break;
        case call_pattern::pipelined:
            return std::max(moved.in_each + computing + moved.out_each, moved.bus());
        case call_pattern::overlapped: return std::max(computing, moved.bus());
    }
    return std::max({moved.bus(), moved.first_in + computing + moved.out_all,
                     moved.in_all + computing + moved.out_each});
}

offload_prediction predict_offload(const offload_work& work, const offload_setting& setting,
                                   std::uint32_t most_workers) {
    offload_prediction found;
    found.total = round_time(work, setting);
    if (most_workers > most_of_curve) {
        throw error(status::bad_argument, fmt::format("a curve up to {} workers; legal is up to {}",
                                                      most_workers, most_of_curve));
    }
    const model_time alone = work.in + work.compute + work.out;
    const auto speedup = [&](model_time time) { return time.count() > 0 ? alone / time : 1.0; };
    found.speedup = speedup(found.total);
    found.is_saturated = is_bus_bound(work, setting, setting.workers);
    const model_time bus = bus_time(work, setting, setting.workers);
    found.transfer_share = found.total.count() > 0 ? bus / found.total : 0;
    for (std::uint32_t workers = 1; workers <= most_workers; ++workers) {
        found.speedups.push_back(speedup(time_with(work, setting, workers)));
        const bool is_first = found.saturates_at == 0 && is_bus_bound(work, setting, workers);
        if (is_first) found.saturates_at = workers;
    }
    if (found.speedups.empty()) return found;
    constexpr double as_good = 0.99;
    const double best = *std::ranges::max_element(found.speedups);
    const auto first = std::ranges::find_if(found.speedups,
                                            [best](double each) { return each >= best * as_good; });
    found.best_workers = static_cast<std::uint32_t>(first - found.speedups.begin()) + 1;
    return found;
}

std::string offload_verdict(const offload_work& work, const offload_setting& setting,
                            std::uint32_t most_workers, std::uint32_t block) {
    const std::uint32_t most = std::max(most_workers, std::min(setting.workers, most_of_curve));
    const offload_prediction found = predict_offload(work, setting, most);
    std::string text = fmt::format(
        "{} {}: {:.0f} % of the time is transfer; {} times as fast as one", setting.workers,
        count_word(setting.workers), 100 * found.transfer_share, text_of_speedup(found.speedup));
    if (found.saturates_at == 0) {
        return text + fmt::format("; the host's transfers do not saturate with up to {} {}", most,
                                  count_word(most));
    }
    text +=
        fmt::format("; saturated from {} {}", found.saturates_at, count_word(found.saturates_at));
    if (found.best_workers != setting.workers) {
        text += fmt::format("; best with {}", found.best_workers);
    }
    const std::uint32_t wanted =
        block == 0 || !found.is_saturated ? 0 : block_that_keeps_busy(work, setting, block);
    if (wanted > block) text += fmt::format("; use blocks of at least {} × {}", wanted, wanted);
    return text;
}

chunk_cost fit_chunk_cost(std::span<const chunk_trial> trials) {
    if (trials.empty()) throw error(status::bad_argument, "costs of calls without any trial");
    const chunk_trial& first = trials.front();
    const chunk_trial& last = trials.back();
    const double apart = static_cast<double>(last.items) - static_cast<double>(first.items);
    const auto fit = [&](model_time low, model_time high) {
        const model_time each = apart > 0 ? std::max(model_time{0}, (high - low) / apart)
                                          : low / static_cast<double>(first.items);
        const model_time call = low - each * static_cast<double>(first.items);
        return std::pair(std::max(model_time{0}, call), each);
    };
    const auto [call_transfer, item_transfer] = fit(first.transfer, last.transfer);
    const auto [call_compute, item_compute] = fit(first.compute, last.compute);
    return {{0, call_transfer, call_compute}, {1, item_transfer, item_compute}};
}

chunk_plan plan_chunks(const chunk_cost& cost, std::size_t items, std::uint32_t workers,
                       std::uint32_t most_depth) {
    std::vector<chunk_plan> plans;
    const std::uint32_t depths = std::min(most_depth, 2u);
    for (std::uint32_t depth = 1; depth <= std::max(depths, 1u); ++depth) {
        const offload_setting setting{
            .workers = workers,
            .pattern = depth == 1 ? call_pattern::pipelined : call_pattern::overlapped};
        // Half as many calls each time, down to one.
        const std::size_t all = std::max<std::size_t>(items, 1);
        for (std::size_t chunk = 1;; chunk = chunk > all / 2 ? all : chunk * 2) {
            plans.push_back({chunk, depth, chunked_time(cost, items, chunk, setting)});
            if (chunk == all) break;
        }
    }
    const auto quickest = std::ranges::min_element(plans, {}, &chunk_plan::total);
    constexpr double as_good = 1.02;
    const model_time most = quickest->total * as_good;
    const chunk_plan* best = &*quickest;
    for (const chunk_plan& each : plans) {
        if (each.total <= most && each.items < best->items) best = &each;
    }
    return *best;
}

}  // namespace selion
