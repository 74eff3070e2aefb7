// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "machine/sim/engine/engine.hpp"
#include "machine/sim/wires/network.hpp"

namespace selion::machine::sim {

class network_bed;

/// A message of a test and what became of it.
struct sample : message {
    ticks sent = 0;
    ticks arrived = -1;
    std::uint32_t arrivals = 0;
    network_bed* bed = nullptr;

    sample() = default;
    sample(ticks when, std::uint32_t source, std::uint32_t target, std::uint64_t size)
        : sent(when) {
        from = source;
        to = target;
        bytes = size;
    }
};

/// A network between ranks that do nothing else.
class network_bed {
public:
    network_bed(std::uint32_t ranks, std::unique_ptr<network> wires)
        : host_(ranks, make_fiber_execution(ranks, 64 * 1024),
                [] {
                    std::fputs("messages were lost on the way\n", stderr);
                    std::abort();
                }),
          wires_(std::move(wires)) {}

    network& wires() { return *wires_; }
    engine& host() { return host_; }
    /// When the last one arrived.
    ticks end() const { return end_; }

    /// Lets events inject all of them, each at its time; returns when all have arrived.
    void deliver(std::deque<sample>& all) {
        std::deque<departure> departures;
        for (sample& what : all) {
            watch(what);
            departure& made = departures.emplace_back();
            made.bed = this;
            made.what = &what;
            made.act = [](engine& host, event& due) {
                const auto& leaving = static_cast<departure&>(due);
                leaving.bed->wires_->inject_from_event(host, *leaving.what);
            };
        }
        run([&](std::uint32_t rank) {
            if (rank != 0) return;
            for (departure& each : departures) {
                host_.schedule(each, each.what->sent, host_.rank(each.what->from));
            }
        });
    }

    /// Lets rank r inject the messages of `programs[r]`, one as soon as its processor is free of
    /// the one before. @return when each processor was free.
    std::vector<ticks> copy(std::vector<std::deque<sample>>& programs) {
        std::vector<ticks> ends(programs.size());
        for (auto& program : programs) {
            for (sample& what : program) watch(what);
        }
        run([&](std::uint32_t rank) {
            task& self = host_.current();
            for (sample& what : programs[rank]) {
                host_.catch_up();
                what.sent = self.now;
                self.now = wires_->inject(host_, what);
            }
            ends[rank] = self.now;
        });
        return ends;
    }

private:
    struct departure : event {
        network_bed* bed = nullptr;
        sample* what = nullptr;
    };

    void watch(sample& what) {
        ++missing_;
        what.next = nullptr;
        what.arrive = [](engine& host, event& due) {
            auto& here = static_cast<sample&>(due);
            here.arrived = host.now();
            ++here.arrivals;
            here.bed->note_arrival();
        };
        what.bed = this;
    }

    void note_arrival() {
        end_ = host_.now();
        if (--missing_ == 0 && is_waiting_) host_.resume_at(host_.rank(0), end_);
    }

    void run(const std::function<void(std::uint32_t)>& body) {
        host_.run([&](std::uint32_t rank) {
            body(rank);
            if (rank != 0 || missing_ == 0) return;
            is_waiting_ = true;
            host_.suspend();
        });
    }

    engine host_;
    std::unique_ptr<network> wires_;
    std::uint64_t missing_ = 0;
    bool is_waiting_ = false;
    ticks end_ = 0;
};

}  // namespace selion::machine::sim
