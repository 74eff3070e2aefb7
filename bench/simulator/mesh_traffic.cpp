// SPDX-License-Identifier: Apache-2.0
// How many cycles of a mesh are simulated in a second: every node sends single transactions to
// nodes chosen at random, each cycle with the same probability.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "machine/sim/engine/engine.hpp"
#include "machine/sim/wires/mesh_network.hpp"

namespace {

namespace sim = selion::machine::sim;

struct settings {
    std::uint32_t rows = 4;
    std::uint32_t columns = 4;
    double load = 0.2;  ///< transactions per node and cycle
    std::int64_t cycles = 1'000'000;
    std::uint64_t seed = 1;
};

sim::mesh_model model_of(const settings& how) {
    sim::mesh_model model;  // half cycles
    model.rows = how.rows;
    model.columns = how.columns;
    model.entry = 3;
    model.hop = 3;
    model.slot = 2;
    return model;
}

/// Injects by events, without ranks: what is measured is the network.
class traffic {
public:
    traffic(const settings& how, sim::engine& host)
        : nodes_(how.rows * how.columns),
          end_(how.cycles * ticks_per_cycle),
          log_of_silence_(std::log1p(-how.load)),
          random_(how.seed),
          host_(host),
          wires_(sim::make_mesh_network(model_of(how))),
          clocks_(nodes_) {}

    /// On the stack of rank 0, until the last transaction has arrived.
    void run() {
        for (std::uint32_t node = 0; node < nodes_; ++node) {
            clocks_[node].owner = this;
            clocks_[node].node = node;
            clocks_[node].act = [](sim::engine&, sim::event& due) {
                auto& clock = static_cast<node_clock&>(due);
                clock.owner->send(clock.node);
            };
            plan_next(node);
        }
        if (waits_ != 0) host_.suspend();
    }

    /// @param seconds of a clock on the wall. @param cpu_seconds of the processor.
    void print(const settings& how, double seconds, double cpu_seconds) const {
        const auto count = static_cast<double>(arrived_);
        std::printf(
            "{\"operation\": \"mesh traffic\", \"rows\": %u, \"columns\": %u, \"load\": %g, "
            "\"cycles\": %lld, \"transactions\": %llu, \"mean_latency_cycles\": %.3f, "
            "\"seconds\": %.3f, \"cpu_seconds\": %.3f, \"cycles_per_second\": %.0f, "
            "\"cycles_per_cpu_second\": %.0f}\n",
            how.rows, how.columns, how.load, static_cast<long long>(how.cycles),
            static_cast<unsigned long long>(arrived_),
            static_cast<double>(latency_) / std::max(count, 1.0) / ticks_per_cycle, seconds,
            cpu_seconds, static_cast<double>(how.cycles) / seconds,
            static_cast<double>(how.cycles) / cpu_seconds);
    }

private:
    static constexpr sim::ticks ticks_per_cycle = 2;

    struct node_clock : sim::event {
        traffic* owner = nullptr;
        std::uint32_t node = 0;
    };
    struct flit : sim::message {
        traffic* host = nullptr;
        sim::ticks sent = 0;
    };

    /// The number of cycles between two successes of a coin is geometric.
    void plan_next(std::uint32_t node) {
        const double fraction = 1.0 - static_cast<double>(random_() >> 11) * 0x1p-53;
        const auto silent = static_cast<sim::ticks>(std::log(fraction) / log_of_silence_);
        const sim::ticks at = host_.now() + (silent + 1) * ticks_per_cycle;
        if (at > end_) return;
        ++waits_;
        host_.schedule(clocks_[node], at, host_.rank(node));
    }

    void send(std::uint32_t node) {
        flit& sent = take();
        sent.from = node;
        sent.to = static_cast<std::uint32_t>(random_() % (nodes_ - 1));
        if (sent.to >= node) ++sent.to;
        sent.bytes = 8;
        sent.sent = host_.now();
        wires_->inject_from_event(host_, sent);
        plan_next(node);
    }

    void receive(flit& arrived) {
        ++arrived_;
        latency_ += host_.now() - arrived.sent;
        arrived.next = free_;
        free_ = &arrived;
        if (--waits_ == 0) host_.resume_at(host_.rank(0), host_.now());
    }

    /// One that is free; `waits_` counts what is planned or under way, and it goes on being one.
    flit& take() {
        if (free_ == nullptr) {
            all_.push_back(std::make_unique<flit>());
            all_.back()->host = this;
            all_.back()->arrive = [](sim::engine&, sim::event& due) {
                auto& here = static_cast<flit&>(due);
                here.host->receive(here);
            };
            return *all_.back();
        }
        auto& taken = static_cast<flit&>(*free_);
        free_ = taken.next;
        return taken;
    }

    std::uint32_t nodes_;
    sim::ticks end_;
    double log_of_silence_;
    std::mt19937_64 random_;
    sim::engine& host_;
    std::unique_ptr<sim::network> wires_;
    std::vector<node_clock> clocks_;
    std::vector<std::unique_ptr<flit>> all_;
    sim::message* free_ = nullptr;
    std::uint64_t waits_ = 0;
    std::uint64_t arrived_ = 0;
    sim::ticks latency_ = 0;
};

settings parse(int argc, char** argv) {
    constexpr double most = 1e15;  // beyond 2^53 not every whole number is one
    constexpr double most_side = 1024;
    settings how;
    for (int i = 1; i < argc; ++i) {
        const std::string_view text = argv[i];
        const std::size_t mark = text.find('=');
        const std::string_view key = text.substr(0, mark);
        const char* const value = mark == text.npos ? "" : argv[i] + mark + 1;
        char* end = nullptr;
        const double number = std::strtod(value, &end);
        const bool is_number = *value != 0 && *end == 0;
        const bool is_whole =
            is_number && number >= 0 && number <= most && number == std::floor(number);
        const bool is_side = is_whole && number >= 1 && number <= most_side;
        if (is_side && key == "rows") {
            how.rows = static_cast<std::uint32_t>(number);
        } else if (is_side && key == "columns") {
            how.columns = static_cast<std::uint32_t>(number);
        } else if (is_number && key == "load" && number > 0 && number < 1) {
            how.load = number;
        } else if (is_whole && key == "cycles" && number >= 1) {
            how.cycles = static_cast<std::int64_t>(number);
        } else if (is_whole && key == "seed") {
            how.seed = static_cast<std::uint64_t>(number);
        } else {
            std::fprintf(stderr,
                         "bench_mesh: \"%s\" is none of rows=, columns= (1 to 1024), load= "
                         "(between 0 and 1), cycles= (1 and more), seed=, in whole numbers but "
                         "for the load\n",
                         argv[i]);
            std::exit(2);
        }
    }
    return how;
}

}  // namespace

int main(int argc, char** argv) {
    const settings how = parse(argc, argv);
    const std::uint32_t nodes = how.rows * how.columns;
    if (nodes < 2) return std::fprintf(stderr, "bench_mesh: one node has nobody to talk to\n"), 2;
    sim::engine host(nodes, sim::make_fiber_execution(nodes, 64 * 1024), [] {
        std::fprintf(stderr, "bench_mesh: transactions were lost\n");
        std::abort();
    });
    traffic load(how, host);
    const std::clock_t cpu_start = std::clock();
    const auto start = std::chrono::steady_clock::now();
    host.run([&](std::uint32_t rank) {
        if (rank == 0) load.run();
    });
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const auto cpu_ticks = static_cast<double>(std::clock() - cpu_start);
    load.print(how, taken.count(), cpu_ticks / CLOCKS_PER_SEC);
}
