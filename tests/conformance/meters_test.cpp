// SPDX-License-Identifier: Apache-2.0
/// Meters count exactly what the rank has done, and nothing at all while they are off.
#include <map>
#include <optional>
#include <string>

#include "conformance/memory_parts.hpp"

namespace {

/// What the meters of this rank have gathered since this object was made.
class meter_change {
public:
    meter_change() : before_(now()) {}

    std::int64_t count_of(const std::string& name) { return since(name).count; }
    std::int64_t bytes_of(const std::string& name) { return since(name).bytes; }
    std::int64_t total_of(const std::string& name) { return since(name).total; }

private:
    static std::map<std::string, selion::meter_reading> now() {
        std::map<std::string, selion::meter_reading> all;
        for (const selion::meter_reading& one : selion::read_meters()) all[one.name] = one;
        return all;
    }
    selion::meter_reading since(const std::string& name) {
        selion::meter_reading change = now()[name];
        const selion::meter_reading& before = before_[name];
        change.count -= before.count;
        change.total -= before.total;
        change.bytes -= before.bytes;
        return change;
    }
    std::map<std::string, selion::meter_reading> before_;
};

bool are_on(selion::world& world) {
    world.barrier();  // leaves a reading where meters are on
    return !selion::read_meters().empty();
}

bool must_be_on(spmd::test_run& test, selion::world& world) {
    if (are_on(world)) return true;
    test.skip("needs SELION_METERS");
    return false;
}

SPMD_TEST(meters, read_nothing_while_off) {
    if (are_on(world)) return test.skip("meters are on");
    selion::count("apples", 3);
    { const selion::timer_scope timer("nap"); }
    test.that(selion::read_meters().empty(), "nothing is recorded");
}

SPMD_TEST(meters, puts_and_gets_are_counted_exactly) {
    if (!must_be_on(test, world)) return;
    spmd::symmetric_array<std::uint64_t> cells(world, 100);
    std::array<std::uint64_t, 25> buffer{};
    meter_change change;
    // Each kind of access has places of its own, so that no two ranks meet at one.
    for (int i = 0; i < 13; ++i) selion::put(cells.at(test.neighbour()), std::uint64_t{1});
    for (int i = 0; i < 7; ++i) {
        selion::put(cells.at(test.neighbour(3), 1), std::span<const std::uint64_t>(buffer));
    }
    selion::put(cells.own(), std::span<const std::uint64_t>());  // nothing to do: no operation
    for (int i = 0; i < 11; ++i) static_cast<void>(selion::get(cells.own(50)));
    for (int i = 0; i < 5; ++i) selion::get(std::span(buffer), cells.at(test.neighbour(), 50));
    test.equal(change.count_of("put"), 20);
    test.equal(change.bytes_of("put"), 13 * 8 + 7 * 200);
    test.equal(change.count_of("get"), 16);
    test.equal(change.bytes_of("get"), 11 * 8 + 5 * 200);
    test.at_least(change.total_of("put"), 0);
    world.barrier();
}

SPMD_TEST(meters, atomics_and_signals_are_counted_exactly) {
    if (!must_be_on(test, world)) return;
    spmd::symmetric_array<std::uint32_t> cells(world, 1);
    spmd::symmetric_array<selion::signal> bell(world, 1);
    spmd::symmetric_array<std::uint64_t> text(world, 1);
    meter_change change;
    for (int i = 0; i < 6; ++i) selion::fetch_add(cells.at(test.neighbour()), 1);
    selion::compare_swap(cells.own(), 0, 1);
    selion::atomic_put(cells.own(), 4);
    static_cast<void>(selion::atomic_get(cells.own()));
    test.equal(change.count_of("atomic"), 9);
    test.equal(change.bytes_of("atomic"), 36);
    for (int i = 0; i < 4; ++i) selion::notify(bell.at(test.neighbour()), selion::signal_add(1));
    selion::put_signal(text.at(test.neighbour()), 5, bell.at(test.neighbour()),
                       selion::signal_add(1));
    test.equal(change.count_of("put_signal"), 5);
    test.equal(change.bytes_of("put_signal"), 8);
    selion::wait_until(bell.own(), 5);
    test.at_least(change.count_of("wait: signal"), 1);
    selion::quiet();
    test.equal(change.count_of("quiet"), 1);
    world.barrier();
}

SPMD_TEST(meters, collectives_are_counted_exactly) {
    if (!must_be_on(test, world)) return;
    meter_change change;
    for (int i = 0; i < 3; ++i) world.barrier();
    for (int i = 0; i < 4; ++i) world.sync();
    for (int i = 0; i < 5; ++i) static_cast<void>(world.broadcast(i, 0));
    for (int i = 0; i < 6; ++i) static_cast<void>(world.all_reduce(i, selion::plus));
    test.equal(change.count_of("barrier"), 3);
    test.equal(change.count_of("sync"), 4);
    test.equal(change.count_of("broadcast"), 5);
    test.equal(change.count_of("all_reduce"), 6);
}

SPMD_TEST(meters, both_halves_of_a_barrier_are_counted) {
    if (!must_be_on(test, world)) return;
    meter_change change;
    selion::meter all("all", "collectives");
    selion::meter arrivals("arrivals", "collectives:arrive");
    all.start(), arrivals.start();
    for (int i = 0; i < 3; ++i) {
        world.arrive();
        world.wait();
    }
    all.stop(), arrivals.stop();
    test.equal(change.count_of("arrive"), 3);
    test.equal(change.count_of("wait"), 3);
    test.equal(all.value(), 6.0);
    test.equal(arrivals.value(), 3.0);
}

SPMD_TEST(meters, counters_and_timers_of_the_program) {
    if (!must_be_on(test, world)) return;
    const spmd::way_giver way(world);
    meter_change change;
    for (int i = 1; i <= 10; ++i) selion::count("apples", i);
    selion::count("apples", -5);
    selion::count("pears");
    test.equal(change.count_of("apples"), 11);
    test.equal(change.total_of("apples"), 50);
    test.equal(change.total_of("pears"), 1);
    const std::int64_t start_ns = world.now();
    for (int i = 0; i < 2; ++i) {
        const selion::timer_scope timer("two naps");
        way.idle(std::chrono::milliseconds(1));
    }
    const std::int64_t passed_ns = world.now() - start_ns;
    test.equal(change.count_of("two naps"), 2);
    test.at_least(change.total_of("two naps"), 2'000'000);
    test.at_least(passed_ns, change.total_of("two naps"));
    for (const selion::meter_reading& one : selion::read_meters()) {
        if (one.name == "apples") test.equal(one.unit, std::string("events"));
        if (one.name != "two naps") continue;
        test.equal(one.unit, std::string("ns"));
        test.that(one.site.find("meters_test.cpp:") != std::string::npos,
                  "a timer knows its place: " + one.site);
    }
    world.barrier();
}

SPMD_TEST(meters, ranks_do_not_share_them) {
    if (!must_be_on(test, world)) return;
    meter_change change;
    for (std::uint32_t i = 0; i <= world.rank(); ++i) selion::count("own");
    world.barrier();
    test.equal(change.count_of("own"), std::int64_t{world.rank()} + 1);
}

}  // namespace
