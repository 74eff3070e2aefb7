// SPDX-License-Identifier: Apache-2.0
/// Meters around pieces of code: what they count on each machine, and what they say where they
/// cannot.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

bool is_available(const char* event) {
    for (const selion::meter_event_info& each : selion::meter_events()) {
        if (each.name == event) return each.is_available;
    }
    return false;
}

/// What a meter cannot be made with, or empty.
std::string refusal(const char* event, selion::meter_kind kind = selion::meter_kind::software) {
    try {
        const selion::meter made("refused", event, kind);
    } catch (const selion::error& trouble) {
        return trouble.what();
    }
    return {};
}

/// What has been recorded under a name.
selion::meter_reading reading_of(const std::string& name) {
    for (const selion::meter_reading& each : selion::read_meters()) {
        if (each.name == name) return each;
    }
    return {};
}

bool contains(const std::string& text, const char* part) { return text.find(part) != text.npos; }

SPMD_TEST(meter, the_clock_runs_between_start_and_stop_only) {
    selion::meter clock("clock");
    test.equal(clock.runs(), 0);
    const std::int64_t before_ps = world.now_ps();
    clock.start();
    test.that(clock.is_running(), "runs");
    selion::charge(selion::nanoseconds(50'000));
    const std::int64_t begun_ns = world.now();
    while (world.now() - begun_ns < 200'000) {
    }
    clock.stop();
    const std::int64_t after_ps = world.now_ps();
    test.equal(clock.runs(), 1);
    const double seconds = clock.value() * clock.seconds_per_unit();
    const double least = 199e-6;
    test.that(seconds > least, "no less than what it was told to wait");
    // The two clocks of a host agree well enough, however long it was interrupted.
    const double whole = static_cast<double>(after_ps - before_ps) * 1e-12;
    test.that(seconds <= whole * 1.01, "no more than what has passed");
    const double once = clock.value();
    selion::charge(selion::nanoseconds(50'000));
    test.equal(clock.value(), once);
    clock.reset();
    test.equal(clock.value(), 0.0);
    world.barrier();
}

/// In virtual time a meter shows what was charged, to the tick, and has no cost of its own.
SPMD_TEST(meter, virtual_time_is_exact) {
    if (world.machine().capabilities.real_time) return test.skip("time is real");
    selion::meter clock("clock");
    test.equal(clock.overhead(), 0.0);
    const auto time_of = [&](int runs) {
        const std::int64_t begun_ps = world.now_ps();
        selion::charge(selion::nanoseconds(1000));
        for (int i = 0; i < runs; ++i) {
            const selion::meter_run run(clock);
        }
        return world.now_ps() - begun_ps;
    };
    // A bus without DMA takes time of its master for those who are further on.
    const bool may_be_taken =
        world.rank() == 0 && world.machine().spec.find("multispert") != std::string::npos;
    const std::int64_t more = time_of(100) - time_of(0);
    test.that(may_be_taken || std::abs(more) <= 1, "the same but for rounding");
    test.equal(clock.value(), 0.0);
    test.equal(clock.runs(), 100);
    clock.start();
    selion::charge(selion::nanoseconds(3000));
    clock.stop();
    const double ns = clock.value() * clock.seconds_per_unit() * 1e9;
    test.that(ns > 2999 && ns < 3001, "3000 ns");
}

SPMD_TEST(meter, messages_are_counted_on_networks) {
    if (!is_available("messages")) {
        return test.that(contains(refusal("messages"), "only simulated machines and fabric count"),
                         "why");
    }
    spmd::symmetric_array<std::int64_t> cells(world, 8);
    const selion::rank_id to = test.neighbour();
    selion::meter puts("puts", "messages:put");
    selion::meter bytes("bytes", "message_bytes:put");
    selion::meter gets("gets", "messages:get");
    selion::meter atomics("atomics", "messages:atomic");
    const std::int64_t values[] = {1, 2, 3};
    world.barrier();
    puts.start(), bytes.start(), gets.start(), atomics.start();
    for (int i = 0; i < 5; ++i) selion::put(cells.at(to, 2), values);
    const std::int64_t back = selion::get(cells.at(to, 7));
    static_cast<void>(selion::fetch_add(cells.at(to, 1), std::int64_t{1}));
    selion::atomic_add(cells.at(to, 1), std::int64_t{1});
    puts.stop(), bytes.stop(), gets.stop(), atomics.stop();
    test.equal(back, 0);
    const bool goes_out = to != world.rank() && cells.at(to).local() == nullptr;
    test.equal(puts.value(), goes_out ? 5.0 : 0.0);
    test.equal(bytes.value(), goes_out ? 5.0 * 24 : 0.0);
    test.equal(gets.value(), goes_out ? 1.0 : 0.0);
    test.equal(atomics.value(), goes_out ? 2.0 : 0.0);
    world.barrier();
}

/// Each rank calls a function at the next one, and answers the one before it.
SPMD_TEST(meter, a_message_is_counted_where_it_is_sent) {
    if (world.machine().capabilities.real_time) return test.skip("time is real");
    spmd::symmetric_array<std::int64_t> cells(world, 1);
    const selion::rank_id to = test.neighbour();
    const auto calls_out = [&](selion::rank_id other) {
        return other != world.rank() && cells.at(other).local() == nullptr ? 10 : 0;
    };
    const int asked = calls_out(to);
    const int answered = calls_out(test.neighbour_before());
    selion::meter messages("messages", "messages:message");
    selion::meter bytes("bytes", "message_bytes:message");
    std::array<double, 2> sent{};
    std::array<double, 2> sent_bytes{};
    const std::vector<double> data(64, 1.0);
    for (const int calls : {0, 10}) {
        world.barrier();
        messages.reset(), bytes.reset();
        messages.start(), bytes.start();
        world.barrier();  // nobody calls before all count
        for (int i = 0; i < calls; ++i) {
            auto back =
                selion::rpc(to, [](std::span<const double> given) { return given[0]; }, data);
            test.equal(back.get(), 1.0);
        }
        world.barrier();  // all of them have been answered
        messages.stop(), bytes.stop();
        sent[calls != 0] = messages.value();
        sent_bytes[calls != 0] = bytes.value();
    }
    // What a barrier has still to send comes into one of them, or into none.
    test.that(std::abs(sent[1] - sent[0] - asked - answered) <= 2,
              std::to_string(sent[1]) + " messages, without calls " + std::to_string(sent[0]));
    test.equal(sent_bytes[1] - sent_bytes[0], 512.0 * asked);
}

SPMD_TEST(meter, operations_need_a_recorded_job) {
    if (!is_available("operations")) {
        return test.that(contains(refusal("operations"), "set SELION_METERS=1"), "why");
    }
    spmd::symmetric_array<std::int64_t> cells(world, 1);
    selion::meter all("all operations", "operations");
    selion::meter puts("only puts", "operations:put");
    selion::meter bytes("moved", "bytes");
    all.start(), puts.start(), bytes.start();
    selion::put(cells.at(test.neighbour()), std::int64_t{7});
    selion::put(cells.at(test.neighbour()), std::int64_t{8});
    static_cast<void>(selion::fetch_add(cells.at(test.neighbour()), std::int64_t{0}));
    all.stop(), puts.stop(), bytes.stop();
    test.equal(all.value(), 3.0);
    test.equal(puts.value(), 2.0);
    test.equal(bytes.value(), 24.0);
    world.barrier();
    test.equal(reading_of("only puts").total, 2);
    test.that(reading_of("only puts").site.find("meter_test.cpp:") != std::string::npos,
              "with its place: " + reading_of("only puts").site);
}

/// What recording takes is none of it.
SPMD_TEST(meter, the_recorded_time_is_the_meter_s_own) {
    if (!is_available("operations")) return test.skip("needs SELION_METERS");
    selion::meter nothing("nothing");
    for (int i = 0; i < 1000; ++i) {
        const selion::meter_run run(nothing);
    }
    const double ns = nothing.value() * nothing.seconds_per_unit() * 1e9;
    const selion::meter_reading recorded = reading_of("nothing");
    test.equal(recorded.count, 1000);
    test.that(std::abs(static_cast<double>(recorded.total) - ns) <= 2,
              std::to_string(recorded.total) + " ns recorded of " + std::to_string(ns));
    test.that(recorded.site.find("meter_test.cpp:") != std::string::npos,
              "with its place: " + recorded.site);
}

/// What the program calls as the library calls something is another reading all the same.
SPMD_TEST(meter, equal_names_of_different_things_stay_apart) {
    if (!is_available("operations")) return test.skip("needs SELION_METERS");
    spmd::symmetric_array<std::int64_t> cells(world, 1);
    selion::meter named("put");
    selion::meter puts("counted", "operations:put");
    puts.start();
    for (int i = 0; i < 5; ++i) {
        const selion::meter_run run(named);
    }
    selion::put(cells.at(test.neighbour()), std::int64_t{7});
    puts.stop();
    test.equal(puts.value(), 1.0);
    world.barrier();
}

SPMD_TEST(meter, members_are_summarised) {
    if (world.machine().capabilities.real_time) return test.skip("time is real");
    selion::meter clock("clock");
    clock.start();
    selion::charge(selion::nanoseconds(1000 * (1 + world.rank())));
    clock.stop();
    const selion::meter_summary all = selion::summarise(world, clock);
    const double unit = all.by_member[0];
    test.equal(all.by_member.size(), std::size_t{world.size()});
    test.equal(all.by_member[world.rank()], clock.value());
    test.equal(all.least, unit);
    test.that(std::abs(all.most - unit * world.size()) < unit / 100, "the last one's");
    test.that(std::abs(all.mean - unit * (1 + world.size()) / 2.0) < unit / 100, "the mean");
}

SPMD_TEST(meter, a_rank_has_two_hardware_meters) {
    using enum selion::meter_kind;
    {
        const selion::meter first("first", "clock", hardware);
        selion::meter second("second", "clock", hardware);
        const std::string sentence = refusal("clock", hardware);
        test.that(contains(sentence, "2 hardware meters are taken, by \"first\" and \"second\""),
                  "names both");
        const selion::meter moved = std::move(second);
        test.that(!refusal("clock", hardware).empty(), "one that has moved is one still");
        test.that(refusal("clock").empty(), "as many software ones as one likes");
    }
    test.that(refusal("clock", hardware).empty(), "they come back");
}

SPMD_TEST(meter, mistakes_name_what_is_legal) {
    test.that(contains(refusal("clocks"), "there is no event 'clocks' (did you mean 'clock'?)"),
              "event");
    test.that(contains(refusal("mesh_wait:left"), "there are core, east, south, west, north"),
              "port");
    test.that(contains(refusal("messages:puts"), "there are put, get, atomic, message"), "kind");
    test.that(contains(refusal("clock:east"), "clock has no parts"), "part");
    test.that(contains(refusal("operations:"), "names no part after its colon"), "no part");
    test.that(contains(refusal("operations:putt"), "did you mean 'put'"), "operation");
    test.that(contains(refusal("waits:signals"), "did you mean 'signal'"), "reason");
    test.that(contains(refusal("waits", selion::meter_kind::hardware), "waits"), "software only");
    for (const selion::meter_event_info& each : selion::meter_events()) {
        test.equal(each.is_available, each.reason.empty());
        if (each.is_available) {
            const std::string sentence = refusal(each.name.c_str());
            test.that(sentence.empty(), each.name.c_str());
        } else {
            test.equal(refusal(each.name.c_str()),
                       each.name + " is not available here: " + each.reason);
        }
    }
}

}  // namespace
