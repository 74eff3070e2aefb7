// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/sim_machine.hpp"
#include "machine/process/crash_handler.hpp"
#include "machine/process/exit_watch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "machine/process/failure.hpp"
#include "machine/process/last_words.hpp"
#include "machine/sim/description/machine_file.hpp"
#include "machine/sim/processor_watch.hpp"
#include "machine/sim/simulation.hpp"

namespace selion::machine {
namespace {

using sim::machine_model;
using sim::run_setting;

/// Options that name a rank must name one of this machine; and what gets lost must be sent again.
void check_faults(const machine_spec& spec, const run_setting& setting,
                  const machine_model& model) {
    const auto check = [&](std::string_view option, std::uint32_t rank) {
        if (rank < model.ranks) return;
        throw error(status::bad_argument,
                    fmt::format("machine \"{}\": {} names rank {}; ranks are 0 to {}", spec.text,
                                option, rank, model.ranks - 1));
    };
    for (const run_setting::kill& one : setting.kills) check("kill", one.rank);
    for (const auto& [rank, factor] : setting.slow) check("slow", rank);
    if (setting.loss_probability > 0 && model.reception.retransmission == 0) {
        throw error(status::bad_argument,
                    fmt::format("machine \"{}\": loss is for machines that send again what got "
                                "lost, and {} does not; set reception.retransmission_ms",
                                spec.text, spec.body));
    }
}

progress_kind progress_of(sim::reception_kind kind) {
    switch (kind) {
        case sim::reception_kind::hardware: break;
        case sim::reception_kind::polling: return progress_kind::polling;
        case sim::reception_kind::interrupt: return progress_kind::interrupt;
    }
    return progress_kind::hardware;
}

class sim_machine final : public machine, launcher {
public:
    sim_machine(std::string spec, machine_model model, const run_setting& setting)
        : model_(std::move(model)), setting_(setting) {
        description_.spec = std::move(spec);
        description_.kind = "sim";
        description_.ranks = model_.ranks;
        description_.processes = 1;
        description_.carriers = 1;
        if (model_.network == sim::network_kind::mesh)
            description_.mesh_columns = model_.mesh.columns;
        description_.capabilities = {
            .shares_memory = model_.node && model_.ranks_per_process() >= model_.ranks,
            .isolates_ranks = false,
            .real_time = false,
            .moves_idle_ranks_only =
                model_.network == sim::network_kind::bus && model_.bus.idle_boards_only,
            .detects_death = false,
            .progress = progress_of(model_.reception.kind),
            .max_ranks = model_.ranks};
    }

    const machine_description& description() const override { return description_; }
    selion::thread_level thread_level() const override { return thread_level::single; }
    class launcher& launcher() override { return *this; }
    class memory& memory() override { return *running_; }
    meters::network_use network_use() const override { return network_use_; }
    named_cost cost(std::string_view name) const override {
        const auto found = model_.extras.find(name);
        if (found == model_.extras.end()) return {};
        constexpr std::uint64_t many = 1 << 20;
        const std::int64_t of_many = model_.tick.to_ps(found->second.per_byte.of(many));
        return {.is_given = true,
                .picoseconds = model_.tick.to_ps(found->second.time),
                .picoseconds_per_byte = static_cast<double>(of_many) / many};
    }

    int run(const job& work) override {
        tell_setting();
        install_crash_handler(false);
        const signal_stack stack_for_signals;
        std::uint32_t ending = 0;
        const exit_watch exits(ending);
        running_.emplace(model_, setting_, *this);
        if (work.has_trace) running_->record_messages();
        const int status = [&] {
            const sim::processor_watch watch(*running_, description_.spec, take_hang_setting());
            return running_->run(work);
        }();
        const bool is_recorded = running_->ranks().front().context.recorder != nullptr;
        network_use_ = is_recorded ? running_->network_use() : meters::network_use();
        running_.reset();
        return status;
    }
    bool is_first_process() const override { return true; }

    [[noreturn]] void end_job(const failure& why) override {
        announce(why);
        say_last_words();
        std::fflush(nullptr);
        _exit(1);
    }
    void note_status(detail::rank_context& context, int status) override {
        running_->note_status(context, status);
    }
    waiter* join_thread(detail::rank_context&) override { return nullptr; }
    void leave_thread(waiter*) override {}
    bool call_beside(detail::rank_context& context, void (*function)(detail::rank_context&, void*),
                     void* argument) override {
        return running_->call_beside(context, function, argument);
    }
    std::string binding_report() const override {
        std::string text;
        for (std::uint32_t rank = 0; rank < model_.ranks; ++rank) {
            text += fmt::format("rank {}: simulated on {}\n", rank, model_.name);
        }
        return text;
    }

    std::uint32_t place_of(const detail::rank_context& context, locality where) override {
        return running_->place_of(context.rank, where);
    }

private:
    void tell_setting() const {
        base::say_verbose(fmt::format(
            "{} ranks simulated on {} in one process, {}, in virtual time; seed {}", model_.ranks,
            model_.name, setting_.has_threads ? "each on a thread of its own" : "as fibers",
            setting_.seed));
        if (!setting_.is_deterministic()) {
            base::say(
                "compute=measured: the host's time is spent, so times differ from run to run");
        }
        if (!setting_.has_payload) {
            base::say(
                fmt::format("payload=none: puts and gets of more than {} bytes take their "
                            "time and move no data",
                            sim::least_payload_bytes));
        }
    }

    machine_model model_;
    run_setting setting_;
    machine_description description_;
    std::optional<sim::simulation> running_;
    meters::network_use network_use_;  ///< of the last run
};

}  // namespace

machine_kind_info describe_sim() {
    return {.name = "sim",
            .forms = {"sim:NAME", "sim:FILE.toml"},
            .summary = "any program in the virtual time of a machine that a file describes",
            .facts = {{"memory", "of each rank alone; moved by a model"},
                      {"ranks", "as many as the machine has, or ranks=N"},
                      {"time", "virtual, in picoseconds; equal runs give equal bytes"},
                      {"deadlock", "detected exactly, with what each rank waits for"}},
            .available = true,
            .reason = {}};
}

result<std::unique_ptr<machine>> make_sim(const machine_spec& spec) try {
    if (spec.body.empty()) {
        return error(status::bad_argument,
                     fmt::format("machine \"{}\": which machine? For example sim:crossbar; "
                                 "`selion machines` lists them",
                                 spec.text));
    }
    auto options = spec.options;
    const run_setting setting = sim::take_run_setting(spec.text, options);
    result<machine_model> model = sim::load_machine(spec.body, options);
    if (!model) return model.trouble();
    check_faults(spec, setting, model.value());
    return std::unique_ptr<machine>(new sim_machine(spec.text, std::move(model).value(), setting));
} catch (const error& trouble) {
    return trouble;
}

}  // namespace selion::machine
