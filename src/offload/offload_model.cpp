// SPDX-License-Identifier: Apache-2.0
#include "selion/offload_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
    const model_time none{0};
    if (work.in >= none && work.out >= none && work.compute >= none) return;
    throw error(status::bad_argument,
                fmt::format("a prediction for {} s in, {} s out and {} s of computing; none of "
                            "them can be negative",
                            work.in.count(), work.out.count(), work.compute.count()));
}

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

/// Side of the blocks whose computing just covers the transfers of all workers.
std::uint32_t block_that_keeps_busy(const offload_work& work, const offload_setting& setting,
                                    std::uint32_t block) {
    const transfers moved(work, setting);
    const model_time computing = work.compute / setting.workers;
    if (computing.count() <= 0) return 0;
    // The share of computing grows with the side.
    const double factor = moved.bus() / computing;
    constexpr double step = 8;
    return static_cast<std::uint32_t>(std::ceil(block * factor / step) * step);
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
    const std::uint32_t most = std::max(most_workers, setting.workers);
    const offload_prediction found = predict_offload(work, setting, most);
    std::string text = fmt::format(
        "{} {}: {:.0f} % of the time is transfer; {:.2g} times as fast as one", setting.workers,
        count_word(setting.workers), 100 * found.transfer_share, found.speedup);
    if (found.saturates_at == 0) {
        return text + fmt::format("; the host's transfers do not hold up to {} {}", most,
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

}  // namespace selion
