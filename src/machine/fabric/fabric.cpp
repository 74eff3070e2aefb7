// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/fabric.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "machine/crash_handler.hpp"
#include "machine/exit_watch.hpp"
#include "machine/fabric/card.hpp"
#include "machine/fabric/fabric_services.hpp"
#include "machine/fabric/interrupts.hpp"
#include "machine/fabric/job_watch.hpp"
#include "machine/fabric/launcher_link.hpp"
#include "machine/fabric/libraries.hpp"
#include "machine/failure.hpp"
#include "machine/last_words.hpp"
#include "machine/node/doorbell.hpp"
#include "machine/node/job_setting.hpp"
#include "machine/node/side_thread.hpp"
#include "selion/machines.hpp"

namespace selion::machine {
namespace fabric {
namespace {

/// Whoever is ended by the launcher needs no more words than this long.
constexpr unsigned longest_end_s = 5;
constexpr std::chrono::microseconds fence_nap{200};
constexpr std::int64_t end_nap_ns = 1'000'000;

/// Everything of one job in one process.
class fabric_machine final : public machine, launcher {
public:
    fabric_machine(node::job_setting setting, launcher_link& launched)
        : setting_(std::move(setting)), launched_(launched), place_(launched.place()) {}

    const machine_description& description() const override { return setting_.description; }
    selion::thread_level thread_level() const override { return thread_level_; }
    class launcher& launcher() override { return *this; }
    class memory& memory() override { return *memory_; }

    int run(const job& work) override;
    bool is_first_process() const override { return place_.rank == 0; }
    [[noreturn]] void end_job(const failure& why) override;
    waiter* join_thread(detail::rank_context& context) override;
    void leave_thread(waiter* own) override;
    bool call_beside(detail::rank_context& context, void (*function)(detail::rank_context&, void*),
                     void* argument) override;
    std::string binding_report() const override;
    std::uint32_t place_of(const detail::rank_context& context, locality where) override;

private:
    void make_endpoint();
    job_terms choose_terms(selion::thread_level level) const;
    rank_card read_card(std::uint32_t rank);
    void exchange_cards(selion::thread_level level);
    void make_memory();
    void make_port();
    void prepare(detail::rank_context& context);
    int run_rank(const job& work);
    void leave_together(detail::rank_context& context);
    std::string name_of_rank(std::uint32_t rank);
    std::string lost_frames_text() const;
    static void on_loss(std::optional<std::uint32_t> rank, const char* why);

    node::job_setting setting_;
    launcher_link& launched_;
    launch_place place_;
    selion::thread_level thread_level_ = selion::thread_level::single;
    std::string card_key_;
    rank_card own_card_;
    job_terms terms_;
    std::uint32_t ending_ = 0;
    std::unique_ptr<endpoint> end_;
    std::optional<node::shared_mapping> mapping_;
    std::unique_ptr<fabric_memory> memory_;
    std::optional<sleeping_place> sleeping_;
    std::unique_ptr<port> port_;
    std::unique_ptr<fabric_clock> clock_;
    std::unique_ptr<fabric_transport> transport_;
    detail::rank_context context_;
    std::mutex join_mutex_;
    std::deque<fabric_waiter> waiters_;  ///< the rank's own, then those of joined threads
    std::vector<bool> is_taken_;
    std::optional<interrupts> interrupts_;
    std::optional<node::side_thread> beside_;
};

/// The machine of the job that runs, for threads of PMIx.
std::atomic<fabric_machine*> running = nullptr;
std::uint32_t jobs = 0;

std::string fabric_machine::name_of_rank(std::uint32_t rank) {
    return fmt::format("rank {} of {} on host {}", rank, place_.ranks,
                       rank == place_.rank ? place_.host : launched_.host_of(rank));
}

void fabric_machine::make_endpoint() {
    endpoint_wish wish = wish_of_knobs();
    wish.is_on_one_host = place_.ranks_on_host == place_.ranks;
    result<std::unique_ptr<endpoint>> opened = endpoint::open(wish);
    if (!opened) throw opened.trouble();
    end_ = std::move(opened).value();
}

/// What rank 0 decides for all.
job_terms fabric_machine::choose_terms(selion::thread_level level) const {
    const bool has_cores = setting_.how_long.spin_ns > 0;
    return {.secret = draw_secret(),
            .reserve_bytes = mapping_->control().reserve_bytes,
            .message_bytes = setting_.message_bytes,
            .processors = std::max(usable_cores(), place_.ranks),
            .have_cores = has_cores ? 1u : 0u,
            .thread_level = static_cast<std::uint32_t>(level)};
}

rank_card fabric_machine::read_card(std::uint32_t rank) {
    const auto bytes = launched_.get(rank, card_key_);
    std::optional<rank_card> card;
    if (bytes) card = decode_card(*bytes);
    if (!card) {
        throw error(status::system_failure,
                    fmt::format("fabric: {} has left no card of this version: all ranks must run "
                                "the same program, and call selion::run alike",
                                name_of_rank(rank)));
    }
    const std::string mistake = difference(own_card_, *card);
    if (mistake.empty()) return *card;
    throw error(status::system_failure, fmt::format("fabric: {} {}, as {} does", name_of_rank(rank),
                                                    mistake, name_of_rank(place_.rank)));
}

void fabric_machine::exchange_cards(selion::thread_level level) {
    card_key_ = fmt::format("selion.card.{}", ++jobs);
    own_card_ = {.terms = {},
                 .program = program_fingerprint(),
                 .version = version(),
                 .spec = setting_.description.spec,
                 .provider = end_->provider(),
                 .host = place_.host,
                 .address = end_->name(),
                 .key = end_->can_move() ? draw_secret() : 0};
    if (place_.rank == 0) {
        make_memory();
        own_card_.terms = choose_terms(level);
    }
    launched_.put(card_key_, encode(own_card_));
    launched_.fence([] { std::this_thread::sleep_for(fence_nap); });
    terms_ = place_.rank == 0 ? own_card_.terms : read_card(0).terms;
    if (place_.rank == 0) return;
    setting_.heap_bytes = terms_.reserve_bytes;
    make_memory();
    if (mapping_->control().reserve_bytes == terms_.reserve_bytes) return;
    throw error(status::out_of_memory,
                fmt::format("fabric: {} cannot reserve {} of addresses, as rank 0 does; set "
                            "SELION_HEAP to a smaller size",
                            name_of_rank(place_.rank), base::bytes_text(terms_.reserve_bytes)));
}

/// One rank's, as the machines of one host lay it out.
void fabric_machine::make_memory() {
    node::mapping_plan plan = setting_.plan(false, !node::register_heavy_fences());
    plan.shape = {};
    result<node::shared_mapping> made = node::shared_mapping::create(plan);
    if (!made) throw made.trouble();
    mapping_.emplace(std::move(made).value());
    mapping_->control().memory_limit /= place_.ranks_on_host;
    memory_ = std::make_unique<fabric_memory>(*mapping_);
}

void fabric_machine::make_port() {
    const std::uint64_t most_message_bytes = terms_.message_bytes / 2 - 64;
    sleeping_.emplace(mapping_->control(), setting_.how_long);
    // The last two bells are those of the threads that serve and work while the rank computes.
    for (std::uint32_t i = 0; i <= setting_.joined_threads + 2; ++i) {
        sleeping_->bells.emplace_back();
        waiters_.emplace_back(*sleeping_, i);
    }
    is_taken_.resize(setting_.joined_threads + 1);
    sleeping_->bells.front().open_file();
    port_ = std::make_unique<port>(port_surroundings{
        .end = *end_,
        .bounds = {.secret = terms_.secret,
                   .own_rank = place_.rank,
                   .ranks = place_.ranks,
                   .reserve_bytes = mapping_->control().reserve_bytes,
                   .most_message_bytes = most_message_bytes},
        .memory = mapping_->slice(0),
        .place_of =
            [this](std::uint32_t rank) {
                try {
                    const rank_card card = read_card(rank);
                    result<peer_address> found = end_->insert(card.address);
                    if (!found) throw found.trouble();
                    return peer_place{found.value(), card.key};
                } catch (const error& trouble) {
                    end_job({place_.rank, trouble.what(), {}});
                }
            },
        .end_job =
            [this](std::uint32_t peer, const std::string& what) {
                const std::string with =
                    peer == no_peer ? "its network" : "the way to or from " + name_of_rank(peer);
                end_job({place_.rank,
                         fmt::format("{}: {} has failed: {}; the job ends",
                                     name_of_rank(place_.rank), with, what),
                         {}});
            }});
    if (own_card_.key != 0) {
        const std::span memory(mapping_->slice(0), mapping_->control().reserve_bytes);
        if (const auto trouble = end_->offer(memory, own_card_.key)) throw *trouble;
    }
    sleeping_->mail = port_.get();
    clock_ = std::make_unique<fabric_clock>(*mapping_, *sleeping_);
    transport_ = std::make_unique<fabric_transport>(*port_, mapping_->slice(0), place_.rank,
                                                    most_message_bytes);
}

void fabric_machine::prepare(detail::rank_context& context) {
    const node::control_block& control = mapping_->control();
    context.rank = place_.rank;
    context.ranks = place_.ranks;
    context.map_ranks(mapping_->slice(0), place_.rank, 1, control.stride_bytes);
    context.bypass_count = context.own.signal_count = context.mapped_count;
    context.reserve_bytes = control.reserve_bytes;
    context.fence_signals = control.fence_signals != 0;
    context.brief_looks = terms_.have_cores != 0 ? node::brief_looks_with_core : 0;
    context.processors = terms_.processors;
    context.sleepers = &mapping_->control().sleepers;
    context.call = &mapping_->record(0);
    context.waiter = &waiters_.front();
    context.transport = transport_.get();
    context.clock = clock_.get();
    context.host = this;
    context.group_first = place_.rank;
    context.groups = place_.ranks;
    publish(context.call->program_start, program_start);
    publish(context.call->thread_id, static_cast<std::uint32_t>(gettid()));
}

int fabric_machine::run(const job& work) {
    make_endpoint();
    exchange_cards(work.thread_level);
    thread_level_ = static_cast<selion::thread_level>(terms_.thread_level);
    make_port();
    prepare(context_);
    base::say_verbose(fmt::format(
        "{}: {} over {} on {}, {} of symmetric memory reserved, {}", setting_.description.spec,
        name_of_rank(place_.rank), end_->provider(), end_->interface(),
        base::bytes_text(terms_.reserve_bytes),
        end_->wait_file() < 0 ? "idle ranks look every millisecond" : "idle ranks sleep"));
    running.store(this, std::memory_order_relaxed);
    launched_.on_loss(on_loss);
    install_crash_handler(false);
    const int status = run_rank(work);
    running.store(nullptr, std::memory_order_relaxed);
    if (port_->dropped() != 0) {
        base::say(fmt::format("warning: {} has dropped {} frames that were not of this job",
                              name_of_rank(place_.rank), port_->dropped()));
    }
    if (port_->repeated() != 0) {
        base::say_verbose(fmt::format("{}: provider {} has delivered {} frames more than once",
                                      name_of_rank(place_.rank), end_->provider(),
                                      port_->repeated()));
    }
    port_.reset();
    end_.reset();
    return status;
}

int fabric_machine::run_rank(const job& work) {
    const exit_watch exits(ending_);
    const signal_stack stack_for_signals;
    const job_watch watch(
        name_of_rank(place_.rank), *context_.call, setting_, [this] { return lost_frames_text(); },
        [this] { end_job({{}, "SELION_HANG_ACTION=abort: the job ends", {}}); });
    port_->open(context_, work.deliver);
    if (setting_.has_notifier) {
        interrupts_.emplace(*sleeping_, context_, setting_.joined_threads + 1);
    }
    detail::rank_context* const outer = std::exchange(detail::current_context, &context_);
    const int status = work.rank_main(context_);
    publish(context_.call->has_finished, 1u);
    interrupts_.reset();
    beside_.reset();
    setting_.has_notifier = false;  // from now on the rank makes such calls itself
    leave_together(context_);
    detail::current_context = outer;
    return status;
}

std::string fabric_machine::lost_frames_text() const {
    if (port_->early() == 0) return {};
    return fmt::format(
        "; {} frames wait for others that they have overtaken: provider {} may have "
        "lost some",
        port_->early(), end_->provider());
}

/// Whoever is in the last fence wants nothing more of anybody, and still serves.
void fabric_machine::leave_together(detail::rank_context& context) {
    port_->quiet(context);
    port_->begin_to_leave();
    launched_.fence([&] {
        detail::shared_word never{0, 0, 0};
        clock_->wait(context, {.word = never,
                               .at_least = 1,
                               .reason = wait_reason::end,
                               .deadline_ns = clock_->now_ns() + end_nap_ns});
    });
}

void fabric_machine::end_job(const failure& why) {
    std::uint32_t nobody = 0;
    const bool is_first =
        std::atomic_ref(ending_).compare_exchange_strong(nobody, 1, std::memory_order_relaxed);
    // Whoever is late leaves the ending to the first, whose words must not be cut off.
    while (!is_first && !is_in_error_handler()) pause();
    announce(why);
    say_last_words();
    // Another thread may hold a stream's lock, and the launcher be slow; then the alarm ends it.
    alarm(longest_end_s);
    std::fflush(nullptr);
    launched_.abort(1);
    _exit(1);
}

/// On a thread of PMIx, which must not be asked anything here. One rank speaks for all.
void fabric_machine::on_loss(std::optional<std::uint32_t> rank, const char* why) {
    fabric_machine* const own = running.load(std::memory_order_relaxed);
    if (own == nullptr) return;
    std::uint32_t nobody = 0;
    if (!std::atomic_ref(own->ending_)
             .compare_exchange_strong(nobody, 1, std::memory_order_relaxed)) {
        return;
    }
    const std::uint32_t speaker = rank && *rank == 0 ? 1 : 0;
    if (!rank) {
        announce({own->place_.rank,
                  fmt::format("rank {} of {} on host {}: the launcher is gone ({}); the job ends",
                              own->place_.rank, own->place_.ranks, own->place_.host, why),
                  {}});
    } else if (own->place_.rank == speaker) {
        announce({*rank,
                  fmt::format("rank {} of {} has died ({}); the job ends", *rank, own->place_.ranks,
                              why),
                  {}});
    }
    _exit(1);
}

waiter* fabric_machine::join_thread(detail::rank_context&) {
    const std::lock_guard lock(join_mutex_);
    const auto free = std::find(is_taken_.begin() + 1, is_taken_.end(), false);
    if (free == is_taken_.end()) return nullptr;
    *free = true;
    const auto number = static_cast<std::size_t>(free - is_taken_.begin());
    sleeping_->bells[number].open_file();
    return &waiters_[number];
}

void fabric_machine::leave_thread(waiter* own) {
    const std::lock_guard lock(join_mutex_);
    for (std::size_t i = 1; i < waiters_.size(); ++i) {
        if (&waiters_[i] == own) is_taken_[i] = false;
    }
}

/// Handlers of the rank run one at a time, so nobody else makes its thread.
bool fabric_machine::call_beside(detail::rank_context& context,
                                 void (*function)(detail::rank_context&, void*), void* argument) {
    if (!setting_.has_notifier) return false;
    if (!beside_) {
        const std::uint32_t bell = setting_.joined_threads + 2;
        sleeping_->bells[bell].open_file();
        beside_.emplace(context, std::make_unique<fabric_waiter>(*sleeping_, bell));
    }
    beside_->add(function, argument);
    return true;
}

std::string fabric_machine::binding_report() const {
    std::string text;
    for (std::uint32_t rank = 0; rank < place_.ranks; ++rank) {
        text +=
            fmt::format("rank {}: a process of its own on host {}, bound as the launcher likes\n",
                        rank, launched_.host_of(rank));
    }
    return text;
}

std::uint32_t fabric_machine::place_of(const detail::rank_context& context, locality where) {
    return where == locality::process ? context.rank : place_.host_number;
}

error malformed(const machine_spec& spec, std::string_view mistake) {
    return {status::bad_argument, fmt::format("machine \"{}\": {}; legal forms are fabric and "
                                              "fabric:N, N as the launcher has been told",
                                              spec.text, mistake)};
}

/// What keeps a spec from being one, without asking the launcher.
std::string mistake_in(const machine_spec& spec) {
    for (const auto& [key, value] : spec.options) {
        if (key != "progress") return fmt::format("there is no option \"{}\"", key);
        if (value != "polling" && value != "interrupt")
            return fmt::format("progress={} is no way of progress", value);
    }
    if (spec.body.empty()) return {};
    const auto ranks = base::parse_whole(spec.body);
    if (ranks && *ranks > 0 && *ranks <= max_ranks) return {};
    return fmt::format("\"{}\" is not a number of ranks (1 to {})", spec.body, max_ranks);
}

/// Ranks that the launcher has bound have their cores to themselves; others count what they see.
node::patience patience_of(const node::job_setting& setting) {
    node::patience how = setting.how_long;
    const bool is_bound = usable_cores() < std::thread::hardware_concurrency();
    if (!base::knob_text(base::knob::spin) && is_bound) how = node::patience_with_cores;
    return how;
}

void describe(const machine_spec& spec, const launch_place& place, node::job_setting& setting) {
    setting.shape = {};
    setting.binding.clear();
    machine_description& words = setting.description;
    words.kind = spec.kind;
    words.spec = fmt::format("{}:{}{}", spec.kind, place.ranks,
                             setting.has_notifier ? ",progress=interrupt" : "");
    words.ranks = words.processes = words.carriers = place.ranks;
    words.capabilities = {
        .shares_memory = false,
        .isolates_ranks = true,
        .real_time = true,
        .moves_idle_ranks_only = true,
        .detects_death = true,
        .progress = setting.has_notifier ? progress_kind::interrupt : progress_kind::polling,
        .max_ranks = max_ranks};
}

}  // namespace
}  // namespace fabric

machine_kind_info describe_fabric() {
    machine_kind_info info{
        .name = "fabric",
        .forms = {"fabric", "fabric:N"},
        .summary =
            "ranks are processes on many hosts, one each, over libfabric; started by "
            "mpirun or another launcher with PMIx",
        .facts = {{"memory", "each rank's own; all else by messages over the network"},
                  {"ranks", "as many as the launcher starts: mpirun -n 4 ./program"},
                  {"isolation", "private memory, globals and libraries of each process"},
                  {"death of a rank", "ends the job; the launcher names rank and host"}},
        .available = true,
        .reason = {}};
    return info;
}

result<std::unique_ptr<machine>> make_fabric(const machine_spec& spec) {
    if (const std::string mistake = fabric::mistake_in(spec); !mistake.empty()) {
        return fabric::malformed(spec, mistake);
    }
    result<fabric::launcher_link*> launched = fabric::launcher_link::connect();
    if (!launched) return launched.trouble();
    const fabric::launch_place& place = launched.value()->place();
    if (!spec.body.empty() && base::parse_whole(spec.body) != place.ranks) {
        return fabric::malformed(spec, fmt::format("the launcher has started {}", place.ranks));
    }
    machine_spec plain = spec;
    plain.options.clear();
    const node_shape on_host{.processes = place.ranks_on_host};
    result<node::job_setting> made = node::make_setting(plain, on_host);
    if (!made) return made.trouble();
    node::job_setting setting = std::move(made).value();
    setting.how_long = fabric::patience_of(setting);
    const auto progress = spec.options.find("progress");
    setting.has_notifier = progress != spec.options.end() && progress->second == "interrupt";
    fabric::describe(spec, place, setting);
    return std::unique_ptr<machine>(
        new fabric::fabric_machine(std::move(setting), *launched.value()));
}

}  // namespace selion::machine
