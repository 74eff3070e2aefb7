// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "machine/fabric/fabric_machine.hpp"
#include "machine/fabric/fabric_spec.hpp"
#include "machine/fabric/job_watch.hpp"
#include "machine/fabric/limits.hpp"
#include "machine/process/crash_handler.hpp"
#include "machine/process/exit_watch.hpp"
#include "machine/process/program_images.hpp"
#include "machine/process/rank_thread.hpp"
#include "selion/machines.hpp"

namespace selion::machine {
namespace fabric {
namespace {

/// Times of silence after which a rank that has not started is taken for dead.
constexpr std::int64_t silences_before_start = 3;

/// Of this process, the one that runs among them.
std::uint32_t jobs = 0;

}  // namespace

void fabric_machine::open_endpoints() {
    const std::uint32_t own = places_.ranks_per_process();
    if (const std::string mistake = raise_file_limit(places_.ranks(), own); !mistake.empty()) {
        throw error(
            status::system_failure,
            fmt::format("fabric: {}: {}", places_.name_of_process(place_.process), mistake));
    }
    endpoint_wish wish = wish_of_knobs();
    wish.is_on_one_host = place_.processes_on_host == place_.processes;
    result<std::vector<std::unique_ptr<endpoint>>> opened = endpoint::open(wish, own);
    if (!opened) throw opened.trouble();
    ends_ = std::move(opened).value();
    setting_.description.network = ends_.front()->provider();
}

/// What the first process decides for all.
job_terms fabric_machine::choose_terms(selion::thread_level level) {
    const bool has_cores = setting_.how_long.spin_ns > 0;
    return {.secret = draw_secret(),
            .reserve_bytes = share_.reserve_bytes(setting_).value(),
            .message_bytes = setting_.message_bytes,
            .processors = std::max(usable_cores(), places_.ranks()),
            .have_cores = has_cores ? 1u : 0u,
            .thread_level = static_cast<std::uint32_t>(level),
            .joined_threads = setting_.joined_threads,
            .is_renumbered = setting_.is_direct && launched_.is_scattered() ? 1u : 0u,
            .reports_deaths = reports_deaths() ? 1u : 0u,
            .compares_calls = setting_.compares_calls ? 1u : 0u};
}

/// Of one that is first spoken to, when nobody can be told any more but by the end of the job.
process_card fabric_machine::card_or_end(std::uint32_t process) {
    try {
        return cards_->read(process);
    } catch (const error& trouble) {
        end_job({places_.own().first, trouble.what(), {}});
    }
}

rank_contact fabric_machine::contact_of(std::uint32_t rank) {
    const std::uint32_t process = places_.process_of(rank);
    const std::size_t local = rank - places_.of_process(process).first;
    if (process == place_.process) return cards_->own().ranks[local];
    return card_or_end(process).ranks[local];
}

std::vector<rank_contact> fabric_machine::own_contacts() const {
    std::vector<rank_contact> own;
    for (const auto& end : ends_) {
        own.push_back({.address = end->name(), .key = end->can_move() ? draw_secret() : 0});
    }
    return own;
}

/// A launcher that goes on without a rank may not tell that one has died before it came.
void fabric_machine::gather_cards() {
    constexpr std::int64_t never = INT64_MAX;
    const std::int64_t hang_ns =
        setting_.aborts_on_hang && setting_.hang_timeout_ns != 0 ? setting_.hang_timeout_ns : never;
    const std::int64_t death_ns =
        reports_deaths() && silence_ns() != 0 ? silences_before_start * silence_ns() : never;
    cards_->gather(silence_ns(), std::min(hang_ns, death_ns), [&] {
        if (hang_ns <= death_ns) end_for_hang();
        end_job({places_.own().first,
                 fmt::format("{} has waited for {} s for all to start, and with "
                             "SELION_RANK_DEATH=report the launcher may not tell that one has "
                             "died; the job ends; raise SELION_FABRIC_TIMEOUT if one is slow",
                             places_.name_of_process(place_.process),
                             static_cast<double>(death_ns) / 1e9),
                 {}});
    });
}

void fabric_machine::exchange_cards(selion::thread_level level) {
    if (place_.process == 0) terms_ = choose_terms(level);
    open_pulses();
    cards_.emplace(launched_, places_, ++jobs,
                   process_card{.terms = terms_,
                                .share = share_.offer(setting_.is_direct),
                                .program = program_fingerprint(),
                                .script = script_of_program().fingerprint,
                                .version = version(),
                                .spec = setting_.description.spec,
                                .provider = ends_.front()->provider(),
                                .host = place_.host,
                                .pulses = pulses_ ? pulses_->name() : std::vector<std::byte>{},
                                .libraries = library_cards(),
                                .ranks = own_contacts()});
    gather_cards();
    if (place_.process != 0) terms_ = cards_->read(0).terms;
    if (terms_.is_renumbered != 0) launched_.renumber();
    setting_.heap_bytes = terms_.reserve_bytes;
    setting_.message_bytes = terms_.message_bytes;
    setting_.joined_threads = terms_.joined_threads;
}

void fabric_machine::make_memory() {
    result<node::shared_mapping> made = share_.make_mapping(setting_, terms_);
    if (!made) throw made.trouble();
    mapping_.emplace(std::move(made).value());
    const rank_range mapped = share_.mapped(places_.ranks_per_process());
    memory_ = std::make_unique<fabric_memory>(*mapping_, mapped.first);
    setting_.shape.processes = share_.near_count();
    const bool is_whole = setting_.is_direct && mapped.count == places_.ranks();
    setting_.description.capabilities.shares_memory = is_whole;
    setting_.description.capabilities.moves_idle_ranks_only = !is_whole;
}

void fabric_machine::make_ranks(const job& work) {
    const rank_range own = places_.own();
    const rank_range mapped = share_.mapped(own.count);
    pipes_.emplace(*mapping_);
    contexts_ = std::vector<detail::rank_context>(own.count);
    joined_.resize(setting_.joined_threads);
    if (base::knob_is_on(base::knob::fabric_batches)) batches_.emplace();
    for (std::uint32_t i = 0; i < own.count; ++i) {
        ranks_.emplace_back(
            rank_surroundings{
                .host = *this,
                .setting = setting_,
                .terms = terms_,
                .places = places_,
                .mapping = *mapping_,
                .mapped = mapped,
                .pipes = *pipes_,
                .batches = batches_ ? &*batches_ : nullptr,
                .lose = [this](
                            std::uint32_t rank,
                            std::string_view why) { deaths_->note(places_.process_of(rank), why); },
                .contact_of = [this](std::uint32_t rank) { return contact_of(rank); }},
            std::move(ends_[i]), own.first + i, contexts_[i]);
    }
    if (setting_.is_direct && mapped.count > 1) {
        std::vector<std::uint32_t> first_rank(own.count + 1);
        std::iota(first_rank.begin(), first_rank.end(), 0u);
        office_.emplace(*mapping_, setting_.shape, share_.own_index(), mapped.first);
        office_->open(contexts_, first_rank, work.deliver, false);
    }
    for (std::uint32_t i = 0; i < own.count; ++i) {
        ranks_[i].open(work, office_ ? &*office_ : nullptr, office_ ? &office_->room(i) : nullptr);
    }
}

void fabric_machine::warn_of_network() const {
    const std::string& provider = setting_.description.network;
    if (place_.process != 0 || withstands_strangers(provider)) return;
    base::say_verbose(fmt::format(
        "warning: whoever reaches a port of this job can end or hang it with bytes that provider "
        "{} itself does not understand; see docs/reference/security.md",
        provider));
}

void fabric_machine::report_strange_pulses() const {
    if (!others_ || others_->strange() == 0) return;
    base::say(
        fmt::format("warning: {} has dropped {} datagrams that were no signs of life of this "
                    "job",
                    places_.name_of_process(place_.process), others_->strange()));
}

int fabric_machine::run(const job& work) {
    std::optional<loss_hearing> hearing(std::in_place, *this);
    open_endpoints();
    exchange_cards(work.thread_level);
    thread_level_ = static_cast<selion::thread_level>(terms_.thread_level);
    make_memory();
    make_ranks(work);
    if (place_.process == 0) {
        const std::string warning = warning_of_binding(places_.ranks_per_process());
        if (!warning.empty()) base::say(warning);
    }
    for (const fabric_rank& rank : ranks_) {
        base::say_verbose(fmt::format("{}: {}", setting_.description.spec, rank.text()));
    }
    warn_of_network();
    watch_deaths();
    // release: what notes deaths [fabric.start]
    has_started_.store(true, std::memory_order_release);
    install_crash_handler(false);
    const int status = run_ranks(work);
    hearing.reset();
    report_strange_pulses();
    batches_.reset();
    for (fabric_rank& rank : ranks_) {
        rank.report_frames();
        rank.close();
    }
    return status;
}

/// A single rank runs on the calling thread.
int fabric_machine::run_ranks(const job& work) {
    const exit_watch exits(ending_);
    watch_others();
    std::vector<watched_rank> watched;
    for (fabric_rank& rank : ranks_) {
        watched.push_back({.name = rank.name(),
                           .record = *rank.context().call,
                           .beside = rank.record_beside(),
                           .more = [&rank] { return rank.lost_frames_text(); }});
    }
    const job_watch watch(std::move(watched), setting_, others_ ? &*others_ : nullptr,
                          deaths_ ? &*deaths_ : nullptr, [this] { end_for_hang(); });
    if (ranks_.size() == 1) {
        run_rank(work, ranks_.front());
    } else {
        std::vector<rank_thread> threads;
        for (fabric_rank& rank : ranks_) {
            threads.emplace_back([this, &work, &rank] { run_rank(work, rank); });
        }
    }
    return status_.load(std::memory_order_relaxed);
}

void fabric_machine::run_rank(const job& work, fabric_rank& rank) {
    const signal_stack stack_for_signals;
    detail::rank_context* const outer = std::exchange(detail::current_context, &rank.context());
    int none = 0;
    status_.compare_exchange_strong(none, rank.run(work), std::memory_order_relaxed);
    leave_together(rank);
    detail::current_context = outer;
}

/// Whoever is in the last fence wants nothing more of anybody, and still serves. A process is in it
/// once all of its ranks are.
void fabric_machine::leave_together(fabric_rank& rank) {
    // Where ranks may die, they have met already as far as they live.
    if (deaths_) return rank.say_goodbye();
    const bool is_last =
        leaving_.fetch_add(1, std::memory_order_relaxed) + 1 == places_.ranks_per_process();
    if (is_last) {
        try {
            launched_.fence([&] { rank.nap(); });
        } catch (const error& trouble) {
            end_job({rank.context().rank, trouble.what(), {}});
        }
        has_ended_.store(true, std::memory_order_relaxed);
    }
    while (!has_ended_.load(std::memory_order_relaxed)) rank.nap();
}

/// Threads of the process have a way to wait each, which serves the rank that they join.
waiter* fabric_machine::join_thread(detail::rank_context& context) {
    const std::lock_guard lock(join_mutex_);
    const auto free = std::ranges::find_if(joined_, [](const auto& one) { return !one; });
    if (free == joined_.end()) return nullptr;
    const auto slot = static_cast<std::uint32_t>(free - joined_.begin());
    const std::uint32_t bell = setting_.bells().of_joined(share_.own_index(), slot);
    pipes_->open(bell);
    note_joined(mapping_->process(share_.own_index()), slot);
    return &free->emplace(rank_of(context).sleeping(), bell);
}

void fabric_machine::leave_thread(waiter* own) {
    const std::lock_guard lock(join_mutex_);
    for (std::optional<fabric_waiter>& one : joined_) {
        if (one && &*one == own) one.reset();
    }
}

std::string fabric_machine::binding_report() const {
    std::string text;
    for (std::uint32_t rank = 0; rank < places_.ranks(); ++rank) {
        const std::string what =
            places_.ranks_per_process() == 1
                ? "a process of its own"
                : fmt::format("a thread of process {}", places_.process_of(rank));
        text += fmt::format("rank {}: {} on host {}, bound as the launcher likes\n", rank, what,
                            places_.host_of(rank));
    }
    return text;
}

std::uint32_t fabric_machine::place_of(const detail::rank_context& context, locality where) {
    return where == locality::process ? places_.process_of(context.rank) : place_.host_number;
}

}  // namespace fabric

machine_kind_info describe_fabric() {
    machine_kind_info info{
        .name = "fabric",
        .forms = {"fabric", "fabric:N", "fabric:xT", "fabric:PxT"},
        .summary =
            "ranks are processes on many hosts, or T threads of each, over libfabric; started by "
            "mpirun or another launcher with PMIx",
        .facts = {{"memory",
                   "shared by the ranks of a host; all else by messages over the network"},
                  {"direct=off", "each rank's own, also within a host"},
                  {"progress=interrupt",
                   "a thread for each rank serves others meanwhile; as with direct=off"},
                  {"ranks",
                   "as many as the launcher starts processes, or T times as many: "
                   "mpirun -n 4 ./program"},
                  {"isolation",
                   "private memory, globals and libraries of each process; ranks of "
                   "one process share them"},
                  {"death of a rank",
                   "ends the job; the launcher names rank and host. With SELION_RANK_DEATH=report "
                   "it is an error at the others"}},
        .available = true,
        .reason = {}};
    return info;
}

result<std::unique_ptr<machine>> make_fabric(const machine_spec& spec) {
    const result<fabric::wished_shape> shape = fabric::parse_spec(spec);
    if (!shape) return shape.trouble();
    result<fabric::launcher_link*> launched = fabric::launcher_link::connect();
    if (!launched) return launched.trouble();
    const fabric::launch_place& place = launched.value()->place();
    result<node::job_setting> setting = fabric::setting_of(spec, shape.value(), place);
    if (!setting) return setting.trouble();
    return std::unique_ptr<machine>(
        new fabric::fabric_machine(std::move(setting).value(), *launched.value()));
}

}  // namespace selion::machine
