// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/fabric_rank.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <span>
#include <utility>

#include "base/log.hpp"
#include "base/units.hpp"
#include "machine/call_record.hpp"
#include "machine/node/doorbell.hpp"

namespace selion::machine::fabric {
namespace {

constexpr std::int64_t nap_ns = 1'000'000;
/// Looks at a word that ranks of the host may write, or a message: a line takes as long as these.
constexpr std::uint32_t brief_looks_beside_network = 8;
/// Who is told nothing more sees that the process has gone.
constexpr std::int64_t longest_goodbye_ns = 1'000'000'000;

std::string memory_text(rank_range near) {
    if (near.count == 1) return "all memory its own";
    return fmt::format("memory shared by ranks {} to {}", near.first, near.first + near.count - 1);
}

}  // namespace

fabric_rank::fabric_rank(rank_surroundings around, std::unique_ptr<endpoint> end,
                         std::uint32_t rank, detail::rank_context& context)
    : around_(std::move(around)),
      rank_(rank),
      context_(context),
      near_(around_.setting.is_direct ? around_.mapped : rank_range{rank, 1}),
      end_(std::move(end)),
      sleeping_(place_to_sleep()),
      waiter_(sleeping_, sleeping_.own.front()),
      port_(make_port()),
      clock_(around_.mapping, around_.setting.bells(), around_.mapped.first, sleeping_),
      has_interrupts_(around_.setting.has_notifier) {
    sleeping_.pipes.open(sleeping_.own.front());
    sleeping_.frames = port_.get();
    if (around_.batches != nullptr) around_.batches->watch(*port_);
    prepare();
    if (deaths_) {
        sleeping_.deaths = &*deaths_;
        context_.deaths = &deaths_->list();
    }
    const std::uint64_t key = around_.contact_of(rank_).key;
    if (key == 0) return;
    const std::span own(memory(), around_.mapping.control().reserve_bytes);
    if (const auto trouble = end_->offer(own, key)) throw *trouble;
}

sleeping_place fabric_rank::place_to_sleep() const {
    std::vector<std::uint32_t> own;
    around_.setting.bells().each_of(index(), around_.setting.joined_threads,
                                    [&](std::uint32_t bell) { own.push_back(bell); });
    return {.mapping = around_.mapping,
            .pipes = around_.pipes,
            .own = std::move(own),
            .how_long = around_.setting.how_long,
            .attention = {}};
}

std::unique_ptr<port> fabric_rank::make_port() {
    if (around_.terms.reports_deaths != 0) deaths_.emplace(around_.places.ranks());
    return std::make_unique<port>(port_surroundings{
        .end = *end_,
        .bounds = {.secret = around_.terms.secret,
                   .own_rank = rank_,
                   .ranks = around_.places.ranks(),
                   .reserve_bytes = around_.mapping.control().reserve_bytes,
                   .most_message_bytes = most_message_bytes()},
        .memory = memory(),
        .place_of =
            [this](std::uint32_t rank) {
                const rank_contact contact = around_.contact_of(rank);
                const result<peer_address> found = end_->insert(contact.address);
                if (!found) end_job(found.trouble().what());
                return peer_place{found.value(), contact.key};
            },
        .end_job =
            [this](std::uint32_t peer, const std::string& what) {
                const std::string with = peer == no_peer
                                             ? "its network"
                                             : "the way to or from " + around_.places.name_of(peer);
                end_job(fmt::format("{}: {} has failed: {}; the job ends", name(), with, what));
            },
        .deaths = deaths_ ? &deaths_->list() : nullptr,
        .lose = around_.lose,
        .own_message = [this] { wake_for_own_message(); },
        .batch_begun = batch_begun()});
}

/// Nothing comes from outside that would wake who is to serve it: a thread that sleeps may wait for
/// another word than that of the rank's news.
void fabric_rank::wake_for_own_message() {
    const auto& serving = sleeping_.attention;
    if (serving && !serving->is_attended()) return serving->ring();
    // seq_cst: the count of messages before the look for sleepers [word.sleep]
    std::atomic_thread_fence(std::memory_order_seq_cst);
    wake_all(sleeping_);
}

std::function<void()> fabric_rank::batch_begun() const {
    batch_timer* const batches = around_.batches;
    if (batches == nullptr) return {};
    return [batches] { batches->note_begun(); };
}

/// What comes over the network is there when it has been looked at: a word does not tell of it.
std::uint32_t fabric_rank::most_brief_looks() const {
    if (near_.count == around_.places.ranks()) return node::brief_looks_with_core;
    return near_.count == 1 ? 0 : brief_looks_beside_network;
}

void fabric_rank::prepare() {
    const node::control_block& control = around_.mapping.control();
    const job_terms& terms = around_.terms;
    context_.rank = rank_;
    context_.ranks = around_.places.ranks();
    context_.map_ranks(around_.mapping.slice(around_.index_of(near_.first)), near_.first,
                       near_.count, control.stride_bytes);
    context_.bypass_count = context_.own.signal_count = context_.mapped_count;
    context_.reserve_bytes = control.reserve_bytes;
    context_.fence_signals = control.fence_signals != 0;
    context_.words_mapped = around_.host.description().capabilities.shares_memory;
    context_.compares_calls = terms.compares_calls != 0;
    context_.brief_polls = terms.have_cores != 0 ? node::brief_looks_with_core : 0;
    context_.brief_looks = std::min(context_.brief_polls, most_brief_looks());
    // While it yields nobody looks at the network.
    const bool yields = context_.words_mapped && context_.ranks > 1 && terms.have_cores == 0;
    context_.brief_yields = yields ? node::brief_yields_without_core : 0;
    context_.processors = terms.processors;
    context_.sharers = &around_.mapping.record(0);
    context_.sharer_count = node::can_tell_processors() ? control.ranks : 0;
    context_.long_turn_ticks = node::long_turn_ticks_of(control.ranks, terms.processors);
    context_.sleepers = &around_.mapping.control().sleepers;
    context_.call = &around_.mapping.record(index());
    context_.waiter = &waiter_;
    context_.clock = &clock_;
    context_.host = &around_.host;
    context_.group_first = rank_;
    context_.groups = context_.ranks;
    publish(context_.call->program_start, program_start);
    publish(context_.call->process, static_cast<std::int32_t>(getpid()));
}

void fabric_rank::open(const job& work, node::post_office* office, node::mail_room* room) {
    port_->open(context_, work.deliver);
    if (office != nullptr) {
        sleeping_.room = room;
        sleeping_.has_frames = near_.count < context_.ranks;
    }
    transport_.emplace(rank_reach{.frames = *port_,
                                  .mapping = around_.mapping,
                                  .first_mapped = around_.mapped.first,
                                  .near = near_,
                                  .office = office,
                                  .place = sleeping_,
                                  .most_message_bytes = most_message_bytes()});
    context_.transport = &*transport_;
    if (!deaths_) return;
    deaths_->open(*port_, [this, office, lose_answers = work.lose_answers](
                              detail::rank_context& server, std::uint32_t dead) {
        if (office != nullptr && near_.contains(dead)) office->give_up(server, dead);
        lose_answers(server, dead);
    });
}

int fabric_rank::run(const job& work) {
    publish(context_.call->thread_id, static_cast<std::uint32_t>(gettid()));
    if (has_interrupts_) {
        interrupts_.emplace(sleeping_, context_);
    }
    const int status = work.rank_main(context_);
    publish(context_.call->has_finished, 1u);
    interrupts_.reset();
    beside_.reset();
    has_interrupts_ = false;  // from now on the rank makes such calls itself
    if (!deaths_) port_->quiet(context_);
    port_->begin_to_leave();
    return status;
}

void fabric_rank::nap() {
    detail::shared_word never{0, 0, 0};
    clock_.wait(context_, {.word = never,
                           .at_least = 1,
                           .reason = wait_reason::end,
                           .deadline_ns = clock_.now_ns() + nap_ns});
}

void fabric_rank::lose(rank_range dead) {
    for (std::uint32_t i = 0; i < dead.count; ++i) deaths_->list().declare(dead.first + i);
    // seq_cst: the deaths before the look for sleepers [word.sleep]
    std::atomic_thread_fence(std::memory_order_seq_cst);
    wake_all(sleeping_);
}

void fabric_rank::say_goodbye() {
    const std::int64_t end_ns = clock_.now_ns() + longest_goodbye_ns;
    while (port_->is_sending() && clock_.now_ns() < end_ns) nap();
}

void fabric_rank::close() {
    port_.reset();
    end_.reset();
}

/// Handlers of the rank run one at a time, so nobody else makes its thread.
bool fabric_rank::call_beside(void (*function)(detail::rank_context&, void*), void* argument) {
    if (!has_interrupts_) return false;
    if (!beside_) {
        const std::uint32_t bell = around_.setting.bells().of_beside(index());
        sleeping_.pipes.open(bell);
        beside_.emplace(context_, std::make_unique<fabric_waiter>(sleeping_, bell),
                        *around_.mapping.record_beside(index()));
    }
    beside_->add(function, argument);
    return true;
}

std::string fabric_rank::text() const {
    return fmt::format(
        "{} over {} on {}, {} of symmetric memory reserved, {}, {}", name(), end_->provider(),
        end_->interface(), base::bytes_text(around_.terms.reserve_bytes), memory_text(near_),
        end_->wait_file() < 0 ? "idle ranks look every millisecond" : "idle ranks sleep");
}

std::string fabric_rank::lost_frames_text() const {
    if (port_->early() == 0) return {};
    return fmt::format(
        "; {} frames wait for others that they have overtaken: provider {} may have "
        "lost some",
        port_->early(), end_->provider());
}

void fabric_rank::report_frames() const {
    if (port_->batches() != 0) {
        base::say_verbose(fmt::format("{}: {} small operations have left in {} batches", name(),
                                      port_->batched(), port_->batches()));
    }
    if (port_->dropped() != 0) {
        base::say(fmt::format("warning: {} has dropped {} frames that were not of this job", name(),
                              port_->dropped()));
    }
    if (port_->repeated() != 0) {
        base::say_verbose(fmt::format("{}: provider {} has delivered {} frames more than once",
                                      name(), end_->provider(), port_->repeated()));
    }
}

}  // namespace selion::machine::fabric
