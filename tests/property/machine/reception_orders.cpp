// SPDX-License-Identifier: Apache-2.0
/// However messages are noticed and kept back: none is lost, those of one rank to another keep
/// their order, nobody waits for ever.
#include <rapidcheck/gtest.h>

#include <numeric>
#include <vector>

#include "unit/machine/sim/run_on_model.hpp"

namespace selion::machine::sim {
namespace {

/// Places in each rank's memory: a signal, a counter, and a word from each rank.
constexpr std::uint64_t signals = 0;
constexpr std::uint64_t counter = 64;
constexpr std::uint64_t words = 128;

struct step {
    enum kind_of_step { compute, put, get, add, quiet } kind = compute;
    std::uint32_t peer = 0;
    ticks time = 0;
    std::uint64_t bytes = 0;
};

/// @param unit what times are multiples of, roughly: a large one makes equal times rare.
machine_model random_model(int unit = 1) {
    machine_model model = free_model(*rc::gen::inRange(2u, 6u), network_kind::crossbar);
    const auto some = [unit](int most) { return ticks{*rc::gen::inRange(0, most * unit)}; };
    const auto maybe = [] { return *rc::gen::arbitrary<bool>(); };
    model.crossbar.latency = some(100);
    model.crossbar.gap = some(10);
    model.crossbar.per_byte = rate::from_ticks(*rc::gen::inRange(0, 3));
    model.acknowledges_puts = maybe();
    reception_model& how = model.reception;
    how.kind = *rc::gen::element(reception_kind::hardware, reception_kind::polling,
                                 reception_kind::interrupt);
    how.dispatch = some(20);
    how.interrupt = some(20);
    how.coalescing = maybe() ? some(100) : 0;
    how.contention = maybe() ? some(20) : 0;
    how.retransmission = maybe() ? 1 + some(300) : 0;
    how.credits = *rc::gen::inRange(0u, 3u);
    how.queues_without_credit = maybe();
    how.has_big_lock = maybe();
    how.has_own_processor = maybe();
    how.enters_always = maybe();
    set_costs(model, {.origin = some(50), .target = some(50), .reply = some(20)});
    operation_regime large = model.put.regimes[0];
    large.latency = some(100);
    model.put.regimes[0].up_to_bytes = 20;
    model.put.regimes[0].latency = some(100);
    model.put.regimes.push_back(large);
    return model;
}

std::vector<std::vector<step>> random_steps(std::uint32_t ranks, int unit = 1) {
    std::vector<std::vector<step>> all(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const auto count = *rc::gen::inRange(0, 15);
        for (int i = 0; i < count; ++i) {
            const auto other = *rc::gen::inRange(1u, ranks);
            all[rank].push_back({.kind = *rc::gen::element(step::compute, step::put, step::get,
                                                           step::add, step::quiet),
                                 .peer = (rank + other) % ranks,
                                 .time = *rc::gen::inRange<ticks>(0, 300 * unit),
                                 .bytes = *rc::gen::inRange<std::uint64_t>(8, 40)});
        }
    }
    return all;
}

/// What the ranks of a run have done and seen.
struct outcome {
    std::vector<std::vector<std::uint64_t>> last_put;   ///< by origin and target
    std::vector<std::vector<std::uint64_t>> last_seen;  ///< behind the signals
    std::uint64_t added = 0;
    std::uint64_t counted = 0;
    ticks most_computed = 0;
    ticks end = 0;
};

void take(model_rank& self, const step& next, std::uint64_t serial, outcome& found) {
    const std::uint64_t own_word = words + 64 * self.number();
    switch (next.kind) {
        case step::compute: self.compute(next.time); break;
        case step::quiet: self.quiet(); break;
        case step::get: self.get(next.peer, words, next.bytes); break;
        case step::add:
            self.fetch_add(next.peer, counter, 1);
            ++found.added;
            break;
        case step::put: {
            std::vector<std::uint64_t> data(5, serial);
            self.put_data(next.peer, own_word, data.data(), next.bytes);
            found.last_put[self.number()][next.peer] = serial;
            break;
        }
    }
}

outcome run_steps(const machine_model& model, const std::vector<std::vector<step>>& steps) {
    outcome found;
    found.last_put.assign(model.ranks, std::vector<std::uint64_t>(model.ranks));
    found.last_seen = found.last_put;
    model_run run(model);
    run.run([&](model_rank& self) {
        std::uint64_t serial = 0;
        ticks computed = 0;
        for (const step& next : steps[self.number()]) {
            take(self, next, ++serial, found);
            if (next.kind == step::compute) computed += next.time;
        }
        found.most_computed = std::max(found.most_computed, computed);
        for (std::uint32_t i = 1; i < self.ranks(); ++i) {
            self.raise((self.number() + i) % self.ranks(), signals);
        }
        self.await(signals, self.ranks() - 1);
        for (std::uint32_t from = 0; from < self.ranks(); ++from) {
            found.last_seen[from][self.number()] = self.own(words + 64 * from);
        }
        found.counted += self.own(counter);
    });
    found.end = run.ended();
    return found;
}

RC_GTEST_PROP(reception, loses_nothing_and_keeps_the_order_of_each_pair, ()) {
    const machine_model model = random_model();
    const auto steps = random_steps(model.ranks);
    const outcome found = run_steps(model, steps);
    RC_ASSERT(found.last_seen == found.last_put);
    RC_ASSERT(found.counted == found.added);
    RC_ASSERT(found.end >= found.most_computed);
}

RC_GTEST_PROP(reception, is_the_same_in_every_run, ()) {
    const machine_model model = random_model();
    const auto steps = random_steps(model.ranks);
    RC_ASSERT(run_steps(model, steps).end == run_steps(model, steps).end);
}

/// Messages that leave without their rank and acknowledgements that nobody sees are short cuts,
/// which credits rule out: with more of them than messages everything must take the same time. Of
/// equal times the order may differ.
RC_GTEST_PROP(reception, short_cuts_change_no_time, ()) {
    constexpr int unit = 100'000;
    machine_model model = random_model(unit);
    model.reception = {};
    set_costs(model, {.origin = 1 + *rc::gen::inRange<ticks>(0, 50 * unit)});
    const auto steps = random_steps(model.ranks, unit);
    const outcome with = run_steps(model, steps);
    model.reception.credits = 1'000'000;
    const outcome without = run_steps(model, steps);
    RC_ASSERT(with.end == without.end);
    RC_ASSERT(with.last_seen == without.last_seen);
    RC_ASSERT(with.counted == without.counted);
}

}  // namespace
}  // namespace selion::machine::sim
