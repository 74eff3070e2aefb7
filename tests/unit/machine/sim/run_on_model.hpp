// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/machine.hpp"
#include "machine/sim/simulation.hpp"

/// Small programs on a machine that a test makes by hand. They call the machine floor alone, so
/// every tick comes from the model.
namespace selion::machine::sim {

/// What a simulation asks of the machine that it belongs to: nothing that a test needs.
class nominal_machine final : public machine, launcher {
public:
    const machine_description& description() const override { return description_; }
    selion::thread_level thread_level() const override { return thread_level::single; }
    class launcher& launcher() override { return *this; }
    class memory& memory() override { return *memory_; }
    int run(const job&) override { return 0; }
    bool is_first_process() const override { return true; }
    [[noreturn]] void end_job(const failure&) override { std::abort(); }
    waiter* join_thread(detail::rank_context&) override { return nullptr; }
    void leave_thread(waiter*) override {}
    std::string binding_report() const override { return {}; }

    class memory* memory_ = nullptr;

private:
    machine_description description_;
};

/// What a test's program sees of the rank that runs it. Places are offsets in a rank's memory,
/// which is zeroed; a signal takes 16 bytes.
class model_rank {
public:
    model_rank(simulation& all, detail::rank_context& context) : all_(all), context_(context) {}

    std::uint32_t number() const { return context_.rank; }
    std::uint32_t ranks() const { return context_.ranks; }
    /// The rank's own time; looking costs nothing.
    ticks now() const { return self().now; }
    /// The same, as a program reads it.
    std::int64_t read_clock_ps() { return all_.now_ps(); }
    engine& events() { return all_.events(); }
    network& wires() { return all_.wires(); }
    detail::rank_context& context() { return context_; }

    /// Computes. @param time in ticks, of a machine whose tick is a picosecond.
    void compute(ticks time) { all_.charge(context_, {.picoseconds = time}); }
    void compute_until(ticks time) {
        if (time > now()) compute(time - now());
    }

    void put(std::uint32_t target, std::uint64_t place, std::uint64_t bytes) {
        const std::vector<std::byte> data(bytes);
        put_data(target, place, data.data(), bytes);
    }
    void put_word(std::uint32_t target, std::uint64_t place, std::uint64_t value) {
        put_data(target, place, &value, sizeof value);
    }
    void put_data(std::uint32_t target, std::uint64_t place, const void* data,
                  std::uint64_t bytes) {
        all_.put(context_, {address(target, place), data, bytes});
    }
    void get(std::uint32_t source, std::uint64_t place, std::uint64_t bytes) {
        std::vector<std::byte> data(bytes);
        all_.get(context_, data.data(), address(source, place), bytes);
    }
    /// The bytes, at most 64, are dropped when they come.
    void start_get(std::uint32_t source, std::uint64_t place, std::uint64_t bytes) {
        all_.start_get(context_, {dropped_.data(), address(source, place), bytes});
    }
    std::uint64_t get_word(std::uint32_t source, std::uint64_t place) {
        std::uint64_t value = 0;
        all_.get(context_, &value, address(source, place), sizeof value);
        return value;
    }
    /// Data behind the signal, which grows by one.
    void put_signal(std::uint32_t target, std::uint64_t signal, std::uint64_t bytes) {
        const std::vector<std::byte> data(bytes);
        all_.put(context_, {address(target, signal + 16), data.data(), bytes,
                            address(target, signal), detail::signal_update{1, true}});
    }
    void raise(std::uint32_t target, std::uint64_t signal) { put_signal(target, signal, 0); }
    /// A signal that no `quiet` waits for.
    void raise_fleeting(std::uint32_t target, std::uint64_t signal) {
        const std::uint64_t word = address(target, signal);
        all_.put(context_, {.target = word,
                            .source = nullptr,
                            .bytes = 0,
                            .signal = word,
                            .update = detail::signal_update{1, true},
                            .is_fleeting = true});
    }
    void await(std::uint64_t signal, std::uint64_t at_least) {
        all_.wait(context_, {word(signal), at_least, wait_reason::signal});
    }
    /// @param deadline in ticks of a picosecond, a multiple of 1000. @return whether it came.
    bool await_until(std::uint64_t signal, std::uint64_t at_least, ticks deadline) {
        return all_.wait(context_, {word(signal), at_least, wait_reason::signal, deadline / 1000});
    }
    std::uint64_t fetch_add(std::uint32_t target, std::uint64_t place, std::uint64_t amount) {
        return all_.atomic(context_,
                           {address(target, place), amount, 0, detail::atomic_operation::add, 8});
    }
    /// A word of the rank's own memory, as a program that polls reads it.
    std::uint64_t look(std::uint64_t place) {
        return all_.atomic(context_,
                           {address(number(), place), 0, 0, detail::atomic_operation::load, 8});
    }
    void quiet() { all_.quiet(context_); }
    /// Makes the target call what the run delivers messages to.
    void send(std::uint32_t target) {
        all_.send(context_, {.target = target, .kind = 0, .handler = 0, .arguments = {}});
    }
    /// Lets everything happen until its own time, and serves nothing.
    void fall_in() { all_.fall_in(context_); }

    /// A word of the rank's own memory.
    std::uint64_t& own(std::uint64_t place) {
        return *reinterpret_cast<std::uint64_t*>(all_.segments().slice(number()) + place);
    }

private:
    const task& self() const { return *all_.ranks()[context_.rank].self; }
    detail::shared_word& word(std::uint64_t place) {
        return *reinterpret_cast<detail::shared_word*>(all_.segments().slice(number()) + place);
    }
    static std::uint64_t address(std::uint32_t rank, std::uint64_t place) {
        return detail::global_address(rank, place);
    }

    simulation& all_;
    detail::rank_context& context_;
    std::array<std::byte, 64> dropped_{};
};

/// A simulation of a model, to be run once.
class model_run {
public:
    explicit model_run(const machine_model& model, run_setting setting = small())
        : all_(model, setting, owner_), ended_(model.ranks) {
        owner_.memory_ = &all_;
    }

    using delivery = void (*)(detail::rank_context&, incoming_message&);

    /// Runs `body` on every rank.
    /// @param deliver called for each message.
    void run(const std::function<void(model_rank&)>& body, delivery deliver = nullptr) {
        all_.run({.rank_main =
                      [&](detail::rank_context& context) {
                          model_rank rank(all_, context);
                          body(rank);
                          ended_[context.rank] = rank.now();
                          return 0;
                      },
                  .deliver = deliver});
    }

    /// Runs a program of its own on each rank; ranks beyond the last one do nothing.
    void run_each(const std::vector<std::function<void(model_rank&)>>& programs,
                  delivery deliver = nullptr) {
        run(
            [&](model_rank& rank) {
                if (rank.number() < programs.size()) programs[rank.number()](rank);
            },
            deliver);
    }

    simulation& all() { return all_; }
    template <class Network>
    Network& wires() {
        return dynamic_cast<Network&>(all_.wires());
    }
    /// When a rank's function returned.
    ticks ended(std::uint32_t rank) const { return ended_[rank]; }
    /// When the last one did.
    ticks ended() const { return *std::max_element(ended_.begin(), ended_.end()); }

    static run_setting small() {
        run_setting setting;
        setting.heap_bytes = std::uint64_t{1} << 20;
        setting.stack_bytes = std::uint64_t{256} << 10;
        return setting;
    }

private:
    nominal_machine owner_;
    simulation all_;
    std::vector<ticks> ended_;
};

/// A model without any costs, to which a test adds those that it is about.
inline machine_model free_model(std::uint32_t ranks, network_kind network) {
    machine_model model;
    model.ranks = ranks;
    model.network = network;
    model.acknowledges_puts = false;
    return model;
}

/// What every operation costs, whatever its size.
struct flat_costs {
    ticks origin = 0;
    ticks target = 0;
    ticks reply = 0;
    ticks latency = 0;
};

inline void set_costs(machine_model& model, const flat_costs& costs) {
    operation_regime regime;
    regime.origin = costs.origin;
    regime.target = costs.target;
    regime.reply = costs.reply;
    regime.latency = costs.latency;
    for (operation_costs* each : {&model.put, &model.get, &model.atomic, &model.signal}) {
        each->regimes = {regime};
    }
}

}  // namespace selion::machine::sim
