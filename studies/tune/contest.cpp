// SPDX-License-Identifier: Apache-2.0
#include "contest.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "calls.hpp"
#include "candidates.hpp"
#include "harness/rows.hpp"

namespace tune {
namespace {

constexpr int fewest_tries = 3;  // before the rounds
constexpr std::size_t fewest_rounds = 3;
constexpr std::uint64_t most_calls = std::uint64_t{1} << 20;
constexpr std::size_t most_rounds = 301;
/// Long beside a look at the clock, and short beside the time until somebody else gets a processor.
constexpr double shortest_block_ns = 20'000;
constexpr double longest_block_ns = 200'000;
constexpr double blocks_of_each = 40;  ///< for which there is time
/// Of the time that each way has, what it may spend on calls that do not count.
constexpr double warm_up_share = 0.25;
/// Calls that do not count, for each member: two, because lines and slots take turns.
constexpr int warm_up_laps = 2;
/// What the touching of data is taken for at most, as part of a call: it is measured alone.
constexpr double most_touching = 0.9;
constexpr int touching_tries = 5;
/// A way that is so many times slower than the quickest at first sight takes part in no round.
constexpr double hopeless = 5;

/// One rank's part of a contest. The team that is measured is another than that by which the ranks
/// agree, so that what is measured carries out nothing else.
class contest {
public:
    contest(selion::world& world, const task& what)
        : world_(world),
          team_(world.split(0u)),
          task_(what),
          calls_(team_, what.what, what.bytes),
          start_ns_(world.now()) {}

    std::vector<outcome> run() {
        find_ways();
        const double each =
            task_.seconds / static_cast<double>(std::max<std::size_t>(all_.size(), 1));
        block_ns_ = std::clamp(each * 1e9 / blocks_of_each, shortest_block_ns, longest_block_ns);
        for (outcome& one : all_) {
            warm_up(one, warm_up_share * each);
            if (touching_ns_ < 0) measure_touching();
            fill_block(one);
        }
        leave_out_hopeless();
        for (std::size_t round = 0; round < most_rounds && goes_on(round); ++round) {
            play_round(round);
            if (!task_.is_exhaustive) leave_out(round + 1);
        }
        return std::move(all_);
    }

private:
    /// All candidates, and what would run here of itself: a table may name a way for this cell
    /// because another cell, the nearest that was measured, has it as a candidate.
    std::vector<selion::collective_choice> all_ways() {
        const shape team{team_.size(), task_.bytes, groups_of(team_)};
        std::vector<selion::collective_choice> ways = candidates(task_.what, team, task_.any_order);
        const selion::collective_choice usual = world_.explain(task_.what, task_.bytes).choice;
        const auto name = [](const selion::collective_choice& way) { return text_of(way); };
        if (std::ranges::find(ways, name(usual), name) == ways.end()) ways.push_back(usual);
        return ways;
    }

    void find_ways() {
        for (const selion::collective_choice& way : task_.ways.empty() ? all_ways() : task_.ways) {
            team_.choose(task_.what, way);
            const auto found = team_.explain(task_.what, task_.bytes);
            if (found.reason == selion::choice_reason::program) all_.push_back({.way = way});
        }
    }

    /// Rank 0 looks at the clock for all.
    bool is_over(std::int64_t since_ns, double seconds) {
        const double spent = static_cast<double>(world_.now() - since_ns) * 1e-9;
        return world_.broadcast(spent > seconds, 0u);
    }

    bool goes_on(std::size_t round) {
        return !is_over(start_ns_, (round < fewest_rounds ? 3 : 1) * task_.seconds) || round == 0;
    }

    /// The first calls find memory that nobody has touched, other memory with each root and in
    /// every other call. With 16 members they take thirty times as long as those that follow.
    void warm_up(const outcome& one, double seconds) {
        team_.choose(task_.what, one.way);
        const std::int64_t start = world_.now();
        for (int lap = 0; lap < warm_up_laps; ++lap) {
            std::uint64_t more = 1;
            for (std::uint64_t left = team_.size(); left != 0; left -= more, more *= 2) {
                more = std::min(more, left);
                for (std::uint64_t i = 0; i < more; ++i) calls_.call(turn_++);
                if (is_over(start, seconds)) return;
            }
            // Each root in the other memory next: with an odd number of members that is so anyway.
            if (team_.size() % 2 == 0) calls_.call(turn_);
        }
    }

    /// What `count` calls take, of the rank that takes longest.
    template <class Call>
    double time(std::uint64_t count, Call call) {
        world_.barrier();
        const std::int64_t start = world_.now();
        for (std::uint64_t i = 0; i < count; ++i) call(turn_++);
        const std::int64_t most = world_.all_reduce(world_.now() - start, selion::maximum);
        return static_cast<double>(most);
    }

    /// As long as a block, because ranks that share a processor take turns.
    void measure_touching() {
        const auto touch = [this](std::uint64_t turn) { calls_.touch(turn); };
        std::uint64_t count = 1;
        double ns = time(count, touch);
        for (; ns < block_ns_ / 2 && count < most_calls; ns = time(count, touch)) count *= 2;
        for (int i = 1; i < touching_tries; ++i) ns = std::min(ns, time(count, touch));
        touching_ns_ = ns / static_cast<double>(count);
    }

    /// Nanoseconds of one of `calls` calls, without the touching of data.
    double time_block(const outcome& one, std::uint64_t calls) {
        team_.choose(task_.what, one.way);
        calls_.call(turn_++);  // as after other calls of the same kind
        const double ns = time(calls, [this](std::uint64_t turn) { calls_.call(turn); });
        const double each = ns / static_cast<double>(calls);
        return each - std::min(touching_ns_, most_touching * each);
    }

    /// Finds how many calls make a block, and notes what the quickest try has taken for each call:
    /// some tries may have been disturbed.
    void fill_block(outcome& one) {
        one.calls = 1;
        double best = std::numeric_limits<double>::max();
        for (int tries = 1; one.calls < most_calls; ++tries) {
            best = std::min(best, time_block(one, one.calls));
            const bool is_full = best * static_cast<double>(one.calls) >= block_ns_ / 2;
            if (is_full && tries >= fewest_tries) break;
            if (!is_full) one.calls *= 2;
        }
        one.ns = {best};
    }

    void leave_out_hopeless() {
        if (all_.empty()) return;
        const auto first = [](const outcome& one) { return one.ns.front(); };
        const double best = first(*std::ranges::min_element(all_, {}, first));
        for (outcome& one : all_) {
            one.is_out = first(one) > hopeless * best;
            if (!one.is_out) one.ns.clear();
        }
    }

    void play_round(std::size_t round) {
        std::vector<std::size_t> order(all_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::shuffle(order, std::mt19937_64(task_.seed * 1000 + round));
        for (const std::size_t number : order) {
            outcome& one = all_[number];
            if (one.is_out) continue;
            one.ns.push_back(time_block(one, one.calls));
        }
    }

    /// The more rounds, the less a way may be slower than the quickest.
    void leave_out(std::size_t rounds) {
        if (rounds < fewest_rounds || all_.empty()) return;
        double best = typical_ns(all_.front().ns);
        for (const outcome& one : all_) best = std::min(best, typical_ns(one.ns));
        const double factor = rounds < 6 ? 2.0 : rounds < 12 ? 1.4 : 1.2;
        for (outcome& one : all_) one.is_out = one.is_out || typical_ns(one.ns) > factor * best;
    }

    selion::world& world_;
    selion::team team_;
    const task& task_;
    caller calls_;
    std::int64_t start_ns_;
    double block_ns_ = 0;
    double touching_ns_ = -1;  ///< of a call, before it is known
    std::uint64_t turn_ = 0;
    std::vector<outcome> all_;
};

}  // namespace

double typical_ns(std::vector<double> samples) {
    std::ranges::sort(samples);
    return study::detail::quantile(samples, 0.25);
}

std::vector<outcome> measure(selion::world& world, const task& what) {
    return contest(world, what).run();
}

}  // namespace tune
