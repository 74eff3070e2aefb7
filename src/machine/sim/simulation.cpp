// SPDX-License-Identifier: Apache-2.0
#include "machine/sim/simulation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "machine/host/host.hpp"
#include "machine/process/failure.hpp"
#include "machine/process/last_words.hpp"
#include "machine/sim/real_clock_watch.hpp"
#include "machine/sim/wires/make_network.hpp"

namespace selion::machine::sim {
namespace {

std::unique_ptr<execution> make_execution(std::uint32_t ranks, const run_setting& setting,
                                          rank_trouble on_trouble) {
    if (setting.has_threads) return make_thread_execution(std::move(on_trouble));
    return make_fiber_execution(ranks, setting.stack_bytes_of(ranks), std::move(on_trouble));
}

}  // namespace

simulation::simulation(const machine_model& model, const run_setting& setting, machine& owner)
    : model_(model),
      setting_(setting),
      owner_(owner),
      segments_(model.ranks, setting.heap_bytes),
      ranks_(model.ranks),
      engine_(model.ranks,
              make_execution(model.ranks, setting,
                             [this](std::uint32_t rank, const std::string& sentence) {
                                 owner_.launcher().end_job(ranks_[rank].context, sentence);
                             }),
              [this] { end_in_deadlock(*this); }),
      network_(make_network(model_)),
      perturbation_(setting, model.tick, model.reception.retransmission),
      limit_bytes_(setting.has_payload ? memory_limit_bytes() : UINT64_MAX),
      most_moved_bytes_(setting.has_payload ? UINT64_MAX : least_payload_bytes) {
    engine_.limit_time(
        latest_, [this](const event& what, std::uint64_t cause) { end_beyond_time(what, cause); });
    if (model_.node) {
        ranks_per_process_ = model_.ranks_per_process();
        ranks_per_node_ = model_.ranks_per_node();
        nodes_.assign((model_.ranks + ranks_per_node_ - 1) / ranks_per_node_,
                      node_memory(*model_.node));
    }
    for (std::uint32_t number = 0; number < model.ranks; ++number) prepare(ranks_[number], number);
}

void simulation::prepare(rank_state& rank, std::uint32_t number) {
    detail::rank_context& context = rank.context;
    rank.self = &engine_.rank(number);
    rank.self->context = &context;
    context.rank = number;
    context.ranks = model_.ranks;
    context.map_ranks(segments_.slice(number), number, 1, segments_.stride_bytes());
    context.bypass_count = 0;  // every operation takes its time
    context.reserve_bytes = segments_.reserve_bytes();
    context.fence_signals = false;
    context.spends_time = true;
    context.sleepers = &no_sleepers_;
    context.call = &rank.record;
    rank.record.program_start = program_start;
    rank.record.process = static_cast<std::int32_t>(getpid());
    if (!setting_.has_threads) {
        rank.record.stack_kib =
            static_cast<std::uint32_t>(setting_.stack_bytes_of(model_.ranks) >> 10);
    }
    context.transport = this;
    context.clock = this;
    context.host = &owner_;
    context.group_first = number;
    context.groups = model_.ranks;
    if (model_.node) share_memory(context);
    if (const auto slow = setting_.slow.find(number); slow != setting_.slow.end()) {
        rank.slowness = rate::from_ticks(slow->second);
        if (model_.node) node_of(number).slow_down(thread_of(number), rank.slowness);
    }
}

/// Whether nothing is to come but the deaths that the run asks for.
bool simulation::is_in_deadlock() const {
    const auto deaths = std::ranges::count_if(
        kills_, [](const kill_event& each) { return engine::is_armed(each); });
    return engine_.pending() == static_cast<std::size_t>(deaths);
}

/// Nobody lives on without a rank: the job ends as it does where ranks are processes.
void simulation::kill(const run_setting::kill& whom) {
    const rank_state& rank = ranks_[whom.rank];
    if (look_at(rank.record.has_finished) != 0) return;
    const std::string sentence =
        fmt::format("rank {} of {} was killed at {} ps by the option kill, {}{}; the job ends",
                    whom.rank, model_.ranks, whom.at_ps, last_call_text(rank.record),
                    is_in_deadlock() ? ", in a deadlock: nothing else could happen any more" : "");
    announce({whom.rank, sentence, {}});
    say_last_words();
    std::fflush(nullptr);
    _exit(1);
}

int simulation::run(const job& work) {
    deliver_ = work.deliver;
    stack_mark_ = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    status_ = 0;
    watch_real_clock();
    kills_.resize(setting_.kills.size());
    for (std::size_t i = 0; i < kills_.size(); ++i) {
        kills_[i].host = this;
        kills_[i].whom = setting_.kills[i];
        kills_[i].act = [](engine&, event& due) {
            auto& death = static_cast<kill_event&>(due);
            death.host->kill(death.whom);
        };
        engine_.schedule(kills_[i], model_.tick.from_ps(kills_[i].whom.at_ps),
                         engine_.rank(kills_[i].whom.rank));
    }
    engine_.run([&](std::uint32_t number) {
        rank_state& rank = ranks_[number];
        note_host_time(rank);
        const int own = work.rank_main(rank.context);
        if (status_ == 0) status_ = own;
        rank.has_returned = true;
        rest(rank);
        if (++returned_ == ranks_.size()) cancel_kills();
    });
    return status_;
}

/// In the order of time: ranks that have run ahead fall in.
void simulation::note_status(detail::rank_context& context, int status) {
    fall_in(context);
    if (status_ == 0) status_ = status;
}

/// Those that come too late: what is under way still arrives, and nothing else is to happen.
void simulation::cancel_kills() {
    for (kill_event& each : kills_) engine_.cancel(each);
}

/// On the rank's stack, which nothing else needs any more.
bool simulation::call_beside(const detail::rank_context& context,
                             void (*function)(detail::rank_context&, void*), void* argument) {
    rank_state& rank = ranks_[context.rank];
    if (!rank.has_returned) return false;
    rank.late_calls.emplace_back(function, argument);
    if (!rank.has_left_stack) return true;
    rank.has_left_stack = false;
    engine_.run_again(*rank.self, time_of(rank), [this, &rank] {
        make_late_calls(rank);
        rest(rank);
    });
    return true;
}

void simulation::make_late_calls(rank_state& rank) {
    publish(rank.record.has_finished, 0u);
    note_host_time(rank);
    go_on(rank);
    for (std::size_t made = 0; made < rank.late_calls.size(); ++made) {
        const auto [function, argument] = rank.late_calls[made];
        function(rank.context, argument);
    }
    rank.late_calls.clear();
}

/// Until there is nothing to do but to serve messages.
void simulation::rest(rank_state& rank) {
    while (true) {
        {
            const call last(*this, rank.context, false);
            come_to_rest(rank);
        }
        if (rank.late_calls.empty()) break;
        make_late_calls(rank);
    }
    rank.has_left_stack = true;
}

std::byte* simulation::address_of(std::uint64_t bits) const {
    return segments_.slice(detail::rank_of(bits)) + (bits & detail::offset_mask);
}

/// A machine file may limit each rank's memory; the host's is shared by all, and without data most
/// of it is never touched.
bool simulation::commit(std::uint64_t bytes) {
    std::uint64_t& own = own_committed_bytes();
    if (model_.memory_bytes != 0 && bytes > model_.memory_bytes - own) return false;
    if (bytes > limit_bytes_ - std::min(committed_bytes_, limit_bytes_)) return false;
    committed_bytes_ += bytes;
    own += bytes;
    return true;
}

void simulation::release(std::uint64_t bytes) {
    committed_bytes_ -= bytes;
    own_committed_bytes() -= bytes;
}

std::uint64_t& simulation::own_committed_bytes() { return calling_rank().committed_bytes; }

std::uint64_t simulation::committed_bytes() const {
    return model_.memory_bytes == 0 ? committed_bytes_
                                    : const_cast<simulation*>(this)->own_committed_bytes();
}

std::uint64_t simulation::limit_bytes() const {
    return model_.memory_bytes == 0 ? limit_bytes_ : model_.memory_bytes;
}

void simulation::discard(detail::rank_context& context, std::uint64_t offset, std::uint64_t bytes) {
    segments_.discard(context.rank, offset, bytes);
}

}  // namespace selion::machine::sim
