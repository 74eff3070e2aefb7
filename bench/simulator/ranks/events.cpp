// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "machine/sim/engine/engine.hpp"
#include "measured_modes.hpp"

namespace bench {
namespace {

namespace sim = selion::machine::sim;

/// Keeps as many events pending as it is told: each one that happens plans itself again, at a time
/// chosen at random.
class pending_events {
public:
    pending_events(sim::engine& host, std::uint64_t pending) : host_(host), events_(pending) {
        for (planned& each : events_) {
            each.owner = this;
            each.act = [](sim::engine&, sim::event& due) {
                auto& happened = static_cast<planned&>(due);
                happened.owner->plan(happened);
            };
        }
    }

    /// On the stack of rank 0, until `rounds` times as many events as are pending have happened.
    void run(std::uint64_t rounds) {
        events_left_ = rounds * events_.size();
        waits_ = events_.size();
        for (planned& each : events_) plan(each);
        host_.suspend();
    }

private:
    struct planned : sim::event {
        pending_events* owner = nullptr;
    };
    /// Wide enough that two events are rarely due at the same time.
    static constexpr sim::ticks latest = 1'000'000'000;

    void plan(planned& what) {
        if (events_left_ == 0) {
            if (--waits_ == 0) host_.resume_at(host_.rank(0), host_.now());
            return;
        }
        --events_left_;
        const auto delay = static_cast<sim::ticks>(random_() % latest);
        host_.schedule(what, host_.now() + delay, host_.rank(0));
    }

    sim::engine& host_;
    std::vector<planned> events_;
    std::minstd_rand random_;
    std::uint64_t events_left_ = 0;
    std::uint64_t waits_ = 0;
};

}  // namespace

/// The engine by itself: no ranks that compute, no network.
int events(const request& what) {
    constexpr std::uint32_t one = 1;
    constexpr std::size_t stack_bytes = 64 * 1024;
    const std::uint64_t pending = what["pending"];
    sim::engine host(one, sim::make_fiber_execution(one, stack_bytes), [] {
        std::fprintf(stderr, "bench_simulator: events were lost\n");
        std::abort();
    });
    host.run([&](std::uint32_t) {
        pending_events load(host, pending);
        load.run(1);  // touches the memory that it needs
        const std::uint64_t before = host.events_so_far();
        const stopwatch watch;
        load.run(what["rounds"]);
        row("events", "selion")
            .add("pending", pending)
            .add("rounds", what["rounds"])
            .add_times(watch, host.events_so_far() - before)
            .print();
    });
    return 0;
}

}  // namespace bench
