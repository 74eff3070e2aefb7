// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/fabric.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
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
#include "machine/fabric/card_exchange.hpp"
#include "machine/fabric/fabric_services.hpp"
#include "machine/fabric/fabric_spec.hpp"
#include "machine/fabric/host_share.hpp"
#include "machine/fabric/interrupts.hpp"
#include "machine/fabric/job_watch.hpp"
#include "machine/fabric/launcher_link.hpp"
#include "machine/fabric/libraries.hpp"
#include "machine/fabric/limits.hpp"
#include "machine/fabric/peer_watch.hpp"
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
constexpr std::int64_t end_nap_ns = 1'000'000;

/// Everything of one job in one process.
class fabric_machine final : public machine, launcher {
public:
    fabric_machine(node::job_setting setting, launcher_link& launched)
        : setting_(std::move(setting)),
          launched_(launched),
          place_(launched.place()),
          share_(place_, [this](std::uint32_t rank) { return cards_->read(rank).share; }) {}

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
    job_terms choose_terms(selion::thread_level level);
    rank_card card_or_end(std::uint32_t rank);
    void open_pulses();
    void watch_others();
    [[noreturn]] void end_for_silence(std::uint32_t rank, const std::string& why,
                                      std::uint32_t teller);
    void exchange_cards(selion::thread_level level);
    void make_memory();
    void make_waiting();
    void make_port();
    void make_transport(const job& work);
    void prepare(detail::rank_context& context);
    int run_rank(const job& work);
    void leave_together(detail::rank_context& context);
    std::string lost_frames_text() const;
    /// Those of memory that ranks share keep their length in front of them.
    std::uint64_t most_message_bytes() const {
        return terms_.message_bytes / 2 - 2 * sizeof(node::payload_header);
    }
    static void on_loss(std::optional<std::uint32_t> rank, const char* why);

    node::job_setting setting_;
    launcher_link& launched_;
    launch_place place_;  ///< ranks as the program knows them once the cards are exchanged
    selion::thread_level thread_level_ = selion::thread_level::single;
    std::optional<card_exchange> cards_;
    job_terms terms_;
    std::uint32_t ending_ = 0;
    std::unique_ptr<endpoint> end_;
    host_share share_;
    std::optional<pulse_socket> pulses_;  ///< if there are other hosts
    std::optional<peer_watch> others_;
    std::optional<node::shared_mapping> mapping_;
    std::unique_ptr<fabric_memory> memory_;
    std::optional<sleeping_place> sleeping_;
    std::unique_ptr<port> port_;
    std::unique_ptr<fabric_clock> clock_;
    std::unique_ptr<fabric_transport> transport_;
    detail::rank_context context_;
    std::mutex join_mutex_;
    std::optional<node::post_office> office_;  ///< of messages to ranks that share memory
    std::deque<fabric_waiter> waiters_;        ///< the rank's own, then those of joined threads
    std::vector<bool> is_taken_;
    std::optional<interrupts> interrupts_;
    std::optional<node::side_thread> beside_;
};

/// How long others may be silent; 0: for ever.
std::int64_t silence_ns() {
    return static_cast<std::int64_t>(base::knob_seconds(base::knob::fabric_timeout) * 1e9);
}

/// The machine of the job that runs, for threads of PMIx.
std::atomic<fabric_machine*> running = nullptr;
std::uint32_t jobs = 0;

void fabric_machine::make_endpoint() {
    if (const std::string mistake = raise_file_limit(place_.ranks); !mistake.empty()) {
        throw error(status::system_failure,
                    fmt::format("fabric: {}: {}", launched_.name_of(place_.rank), mistake));
    }
    endpoint_wish wish = wish_of_knobs();
    wish.is_on_one_host = place_.ranks_on_host == place_.ranks;
    result<std::unique_ptr<endpoint>> opened = endpoint::open(wish);
    if (!opened) throw opened.trouble();
    end_ = std::move(opened).value();
    setting_.description.network = end_->provider();
}

/// What rank 0 decides for all.
job_terms fabric_machine::choose_terms(selion::thread_level level) {
    const bool has_cores = setting_.how_long.spin_ns > 0;
    return {.secret = draw_secret(),
            .reserve_bytes = share_.reserve_bytes(setting_).value(),
            .message_bytes = setting_.message_bytes,
            .processors = std::max(usable_cores(), place_.ranks),
            .have_cores = has_cores ? 1u : 0u,
            .thread_level = static_cast<std::uint32_t>(level),
            .joined_threads = setting_.joined_threads,
            .is_renumbered = setting_.is_direct && launched_.is_scattered() ? 1u : 0u};
}

/// Of a rank that is first spoken to, when nobody can be told any more but by the end of the job.
rank_card fabric_machine::card_or_end(std::uint32_t rank) {
    try {
        return cards_->read(rank);
    } catch (const error& trouble) {
        end_job({place_.rank, trouble.what(), {}});
    }
}

void fabric_machine::exchange_cards(selion::thread_level level) {
    if (place_.rank == 0) terms_ = choose_terms(level);
    open_pulses();
    cards_.emplace(launched_, ++jobs,
                   rank_card{.terms = terms_,
                             .share = share_.offer(setting_.is_direct),
                             .program = program_fingerprint(),
                             .version = version(),
                             .spec = setting_.description.spec,
                             .provider = end_->provider(),
                             .host = place_.host,
                             .address = end_->name(),
                             .pulses = pulses_ ? pulses_->name() : std::vector<std::byte>{},
                             .key = end_->can_move() ? draw_secret() : 0});
    cards_->gather(silence_ns(), setting_.aborts_on_hang ? setting_.hang_timeout_ns : 0,
                   [this] { end_job({{}, "SELION_HANG_ACTION=abort: the job ends", {}}); });
    if (place_.rank != 0) terms_ = cards_->read(0).terms;
    if (terms_.is_renumbered != 0) {
        launched_.renumber();
        place_ = launched_.place();
    }
    setting_.heap_bytes = terms_.reserve_bytes;
    setting_.message_bytes = terms_.message_bytes;
    setting_.joined_threads = terms_.joined_threads;
}

void fabric_machine::open_pulses() {
    if (place_.ranks_on_host < place_.ranks && silence_ns() != 0) pulses_.emplace(end_->name());
}

/// On the thread of the `job_watch`, from now on.
void fabric_machine::watch_others() {
    if (!pulses_) return;
    others_.emplace(
        *pulses_,
        peer_watch::surroundings{
            .secret = terms_.secret,
            .own_rank = place_.rank,
            .timeout_ns =
                static_cast<std::int64_t>(base::knob_seconds(base::knob::fabric_timeout) * 1e9),
            .whom_to_ask =
                [this](std::span<const std::uint32_t> asked_before) {
                    return choose_asked(
                        place_.rank, place_.ranks, port_->debtors(), asked_before,
                        [this](std::uint32_t rank) { return launched_.host_of(rank); });
                },
            .address_of = [this](std::uint32_t rank) { return card_or_end(rank).pulses; },
            .on_silence = [this](std::uint32_t rank, const std::string& why,
                                 std::uint32_t teller) { end_for_silence(rank, why, teller); }});
}

void fabric_machine::end_for_silence(std::uint32_t rank, const std::string& why,
                                     std::uint32_t teller) {
    const std::string who = launched_.name_of(place_.rank);
    end_job({rank, silence_text(who, launched_.name_of(rank), teller == place_.rank, why), {}});
}

void fabric_machine::make_memory() {
    result<node::shared_mapping> made = share_.make_mapping(setting_, terms_);
    if (!made) throw made.trouble();
    mapping_.emplace(std::move(made).value());
    const rank_range near = share_.near();
    memory_ = std::make_unique<fabric_memory>(*mapping_, near);
    setting_.shape.processes = near.count;
    const bool is_whole = setting_.is_direct && near.count == place_.ranks;
    setting_.description.capabilities.shares_memory = is_whole;
    setting_.description.capabilities.moves_idle_ranks_only = !is_whole;
}

void fabric_machine::make_waiting() {
    sleeping_.emplace(*mapping_, setting_.how_long, setting_.bells(), share_.own_index());
    for (const std::uint32_t bell : sleeping_->own) waiters_.emplace_back(*sleeping_, bell);
    is_taken_.resize(setting_.joined_threads + 1);
    sleeping_->pipes.open(sleeping_->own.front());
    clock_ = std::make_unique<fabric_clock>(*mapping_, *sleeping_);
}

void fabric_machine::make_port() {
    port_ = std::make_unique<port>(port_surroundings{
        .end = *end_,
        .bounds = {.secret = terms_.secret,
                   .own_rank = place_.rank,
                   .ranks = place_.ranks,
                   .reserve_bytes = mapping_->control().reserve_bytes,
                   .most_message_bytes = most_message_bytes()},
        .memory = mapping_->slice(share_.own_index()),
        .place_of =
            [this](std::uint32_t rank) {
                const rank_card card = card_or_end(rank);
                const result<peer_address> found = end_->insert(card.address);
                if (!found) end_job({place_.rank, found.trouble().what(), {}});
                return peer_place{found.value(), card.key};
            },
        .end_job =
            [this](std::uint32_t peer, const std::string& what) {
                const std::string with = peer == no_peer
                                             ? "its network"
                                             : "the way to or from " + launched_.name_of(peer);
                end_job({place_.rank,
                         fmt::format("{}: {} has failed: {}; the job ends",
                                     launched_.name_of(place_.rank), with, what),
                         {}});
            }});
    if (const std::uint64_t key = cards_->own().key; key != 0) {
        const std::span memory(mapping_->slice(share_.own_index()),
                               mapping_->control().reserve_bytes);
        if (const auto trouble = end_->offer(memory, key)) throw *trouble;
    }
    sleeping_->frames = port_.get();
}

/// Messages of the rank begin to be served once its function has begun.
void fabric_machine::make_transport(const job& work) {
    port_->open(context_, work.deliver);
    const rank_range near = share_.near();
    if (near.count > 1) {
        constexpr std::array<std::uint32_t, 2> first_rank{0, 1};
        office_.emplace(*mapping_, setting_.shape, share_.own_index(), near.first);
        office_->open(std::span(&context_, 1), first_rank, work.deliver);
        sleeping_->room = &office_->room(0);
        sleeping_->has_frames = near.count < place_.ranks;
    }
    transport_ = std::make_unique<fabric_transport>(rank_reach{
        *port_, *mapping_, near, office_ ? &*office_ : nullptr, *sleeping_, most_message_bytes()});
    context_.transport = transport_.get();
}

void fabric_machine::prepare(detail::rank_context& context) {
    const node::control_block& control = mapping_->control();
    context.rank = place_.rank;
    context.ranks = place_.ranks;
    context.map_ranks(mapping_->slice(0), share_.near().first, share_.near().count,
                      control.stride_bytes);
    context.bypass_count = context.own.signal_count = context.mapped_count;
    context.reserve_bytes = control.reserve_bytes;
    context.fence_signals = control.fence_signals != 0;
    context.words_mapped = description().capabilities.shares_memory;
    context.brief_looks = terms_.have_cores != 0 ? node::brief_looks_with_core : 0;
    // While it yields nobody looks at the network.
    const bool yields = context.words_mapped && place_.ranks > 1 && terms_.have_cores == 0;
    context.brief_yields = yields ? node::brief_yields_without_core : 0;
    context.processors = terms_.processors;
    context.sleepers = &mapping_->control().sleepers;
    context.call = &mapping_->record(share_.own_index());
    context.waiter = &waiters_.front();
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
    make_memory();
    make_waiting();
    make_port();
    prepare(context_);
    make_transport(work);
    base::say_verbose(fmt::format(
        "{}: {} over {} on {}, {} of symmetric memory reserved, {}, {}", setting_.description.spec,
        launched_.name_of(place_.rank), end_->provider(), end_->interface(),
        base::bytes_text(terms_.reserve_bytes), share_.text(),
        end_->wait_file() < 0 ? "idle ranks look every millisecond" : "idle ranks sleep"));
    running.store(this, std::memory_order_relaxed);
    launched_.on_loss(on_loss);
    install_crash_handler(false);
    const int status = run_rank(work);
    running.store(nullptr, std::memory_order_relaxed);
    if (port_->dropped() != 0) {
        base::say(fmt::format("warning: {} has dropped {} frames that were not of this job",
                              launched_.name_of(place_.rank), port_->dropped()));
    }
    if (port_->repeated() != 0) {
        base::say_verbose(fmt::format("{}: provider {} has delivered {} frames more than once",
                                      launched_.name_of(place_.rank), end_->provider(),
                                      port_->repeated()));
    }
    port_.reset();
    end_.reset();
    return status;
}

int fabric_machine::run_rank(const job& work) {
    const exit_watch exits(ending_);
    const signal_stack stack_for_signals;
    watch_others();
    const job_watch watch(
        launched_.name_of(place_.rank), *context_.call, setting_,
        [this] { return lost_frames_text(); }, others_ ? &*others_ : nullptr,
        [this] { end_job({{}, "SELION_HANG_ACTION=abort: the job ends", {}}); });
    if (setting_.has_notifier) {
        interrupts_.emplace(*sleeping_, context_, setting_.bells().of_notifier(share_.own_index()));
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
    sleeping_->pipes.open(sleeping_->own[number]);
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
        const std::uint32_t bell = setting_.bells().of_beside(share_.own_index());
        sleeping_->pipes.open(bell);
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

}  // namespace
}  // namespace fabric

result<std::unique_ptr<machine>> make_fabric(const machine_spec& spec) {
    if (const std::string mistake = fabric::mistake_in(spec); !mistake.empty()) {
        return fabric::malformed(spec, mistake);
    }
    result<fabric::launcher_link*> launched = fabric::launcher_link::connect();
    if (!launched) return launched.trouble();
    const fabric::launch_place& place = launched.value()->place();
    result<node::job_setting> setting = fabric::setting_of(spec, place);
    if (!setting) return setting.trouble();
    return std::unique_ptr<machine>(
        new fabric::fabric_machine(std::move(setting).value(), *launched.value()));
}

}  // namespace selion::machine
