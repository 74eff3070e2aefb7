// SPDX-License-Identifier: Apache-2.0
#include "overlap.hpp"

#include <algorithm>

namespace one_sided {

overlap_test::overlap_test(const selion::world& world, slots& operations, const processor& cpu,
                           waiting how)
    : world_(world), operations_(operations), cpu_(cpu), how_(how), counted_(operations.size()) {
    for (selion::counter& counted : counted_) all_.push_back(&counted);
}

/// A put is over when its source may be used again, a get when its data are there.
void overlap_test::issue(std::uint32_t slot) {
    selion::counters when;
    (operations_.are_puts() ? when.origin : when.completion) = &counted_[slot];
    operations_.start(slot, when);
}

void overlap_test::reap_and_reissue(std::uint64_t to_issue) {
    for (; to_issue > 0; --to_issue) issue(reap_one());
}

/// A slot whose operation is over: the next one that is, or the first that will be.
std::uint32_t overlap_test::reap_one() {
    const auto depth = static_cast<std::uint32_t>(counted_.size());
    while (true) {
        for (std::uint32_t i = 0; i < depth; ++i) {
            last_ = (last_ + 1) % depth;
            if (counted_[last_].value() == 0) continue;
            counted_[last_].wait();
            return last_;
        }
        if (how_ == waiting::wait_counter) {
            last_ = static_cast<std::uint32_t>(selion::wait_any(all_));
            return last_;
        }
        selion::progress();
    }
}

void overlap_test::reap_until_done() {
    for (selion::counter& counted : counted_) counted.wait();
}

/// The names are the source's: `fill_level` issues are kept in progress, and what is computed for
/// each of them is computed at once.
double overlap_test::run(std::uint64_t iterations, double cpu_ns) {
    const std::uint64_t depth = operations_.size();
    const std::uint64_t fill_level = (depth + 1) / 2;
    const std::int64_t start_ps = world_.now_ps();
    for (std::uint32_t slot = 0; slot < depth; ++slot) issue(slot);
    std::uint64_t issued = depth;
    std::uint64_t computed = 0;
    while (issued < iterations) {
        cpu_.compute(cpu_ns * static_cast<double>(fill_level));
        computed += fill_level;
        const std::uint64_t to_issue = std::min(iterations - issued, fill_level);
        reap_and_reissue(to_issue);
        issued += to_issue;
    }
    if (computed < iterations) cpu_.compute(cpu_ns * static_cast<double>(iterations - computed));
    reap_until_done();
    const std::int64_t elapsed_ps = world_.now_ps() - start_ps;
    selion::quiet();  // what puts still have under way is not the next run's
    return static_cast<double>(elapsed_ps) / 1000 / static_cast<double>(iterations);
}

study::spread overlap_test::time_runs(std::uint64_t iterations, double cpu_ns) {
    if (!world_.machine().capabilities.real_time) {
        return study::spread_of({run(iterations, cpu_ns)});
    }
    constexpr int samples = 15;
    const std::uint64_t fewer = std::max<std::uint64_t>(500, operations_.size());
    run(fewer, cpu_ns);  // warms up
    std::vector<double> each;
    for (int i = 0; i < samples; ++i) each.push_back(run(fewer, cpu_ns));
    return study::spread_of(each);
}

study::spread overlap_test::effective_latency(double cpu_ns) {
    constexpr std::uint64_t source_iterations = 10'000;
    return time_runs(source_iterations, cpu_ns);
}

double overlap_test::free_ns() {
    constexpr std::uint64_t iterations = 2'000;
    constexpr int steps = 100;
    const double most_ns = time_runs(iterations, 0).median * (1 + tolerated);
    // With as much to compute as an operation may take, it takes longer. The curve may fall in
    // parts, where an answer just meets a call, so the end of the flat part is sought from there.
    const double step_ns = most_ns / steps;
    double above_ns = most_ns;
    for (int step = steps; step >= 0; --step) {
        const double now_ns = time_runs(iterations, step * step_ns).median;
        if (now_ns <= most_ns) {
            const double part = step == steps ? 0 : (most_ns - now_ns) / (above_ns - now_ns);
            return (step + part) * step_ns;
        }
        above_ns = now_ns;
    }
    return 0;
}

}  // namespace one_sided
