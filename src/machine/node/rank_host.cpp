// SPDX-License-Identifier: Apache-2.0
#include "machine/node/rank_host.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <system_error>

#include "machine/node/binding.hpp"
#include "machine/node/fiber_carrier.hpp"
#include "machine/node/notifier.hpp"
#include "machine/process/crash_handler.hpp"
#include "machine/process/failure.hpp"
#include "machine/process/last_words.hpp"
#include "machine/process/rank_thread.hpp"

namespace selion::machine::node {

error no_thread(const std::system_error& why) {
    return {status::system_failure,
            fmt::format("cannot make a thread for ranks ({}); use fewer ranks or carriers, or "
                        "raise the limits of threads and memory",
                        why.code().message())};
}

rank_host::rank_host(const job_setting& setting, const shared_mapping& mapping, machine& owner,
                     std::uint32_t process)
    : setting_(setting),
      mapping_(mapping),
      owner_(owner),
      process_(process),
      clock_(mapping, setting.bells()),
      office_(mapping, setting.shape, process),
      transport_(mapping, office_),
      contexts_(setting.shape.ranks_per_process),
      beside_(setting.shape.ranks_per_process) {
    const std::uint32_t carriers = setting.shape.carriers_per_process;
    const std::uint32_t ranks = setting.shape.ranks_per_process;
    for (std::uint32_t c = 0; c <= carriers; ++c) {
        first_rank_.push_back(static_cast<std::uint32_t>(std::uint64_t{ranks} * c / carriers));
    }
    for (std::uint32_t r = 0; r < ranks; ++r) prepare(contexts_[r], r);
    for (std::uint32_t i = 0; i < setting.joined_threads; ++i) {
        joined_.emplace_back(waiting_of(setting.bells().of_joined(process, i), nullptr));
    }
    is_joined_.resize(joined_.size());
}

wait_setting rank_host::waiting_of(std::uint32_t bell, mail_room* mail) const {
    return {&mapping_.bell(bell), bell, &mapping_.control(), mapping_.is_shared(),
            setting_.how_long,    mail};
}

void rank_host::prepare(detail::rank_context& context, std::uint32_t local_rank) {
    const control_block& control = mapping_.control();
    const std::uint32_t rank = process_ * setting_.shape.ranks_per_process + local_rank;
    const auto carrier =
        static_cast<std::uint32_t>(std::ranges::upper_bound(first_rank_, local_rank) -
                                   first_rank_.begin()) -
        1;
    context.rank = rank;
    context.ranks = control.ranks;
    const std::uint32_t first_mapped = setting_.is_direct ? 0 : rank;
    context.map_ranks(mapping_.slice(first_mapped), first_mapped,
                      setting_.is_direct ? control.ranks : 1, control.stride_bytes);
    context.bypass_count = context.mapped_count;
    context.own.signal_count = context.mapped_count;
    context.reserve_bytes = control.reserve_bytes;
    context.fence_signals = control.fence_signals != 0;
    context.words_mapped = setting_.is_direct;
    context.compares_calls = setting_.compares_calls;
    if (!setting_.shape.has_fibers()) {
        const bool has_core = control.have_cores != 0;
        context.brief_polls = has_core ? brief_looks_with_core : 0;
        // What others want with a rank's words they send it.
        context.brief_looks = context.words_mapped ? context.brief_polls : 0;
        context.brief_yields = has_core ? 0 : brief_yields_without_core;
    }
    context.processors = control.processors;
    context.sharers = &mapping_.record(0);
    context.sharer_count = can_tell_processors() ? control.ranks : 0;
    context.long_turn_ticks = long_turn_ticks_of(control.ranks, control.processors);
    context.sleepers = &mapping_.control().sleepers;
    context.call = &mapping_.record(rank);
    if (setting_.shape.has_fibers()) {
        publish(context.call->stack_kib, static_cast<std::uint32_t>(setting_.stack_bytes >> 10));
    }
    context.transport = &transport_;
    context.clock = &clock_;
    context.host = &owner_;
    context.group_first = rank - local_rank + first_rank_[carrier];
    context.group_size = first_rank_[carrier + 1] - first_rank_[carrier];
    context.groups = setting_.shape.carriers();
}

int rank_host::run(const job& work, bool may_use_caller) {
    const std::uint32_t carriers = setting_.shape.carriers_per_process;
    office_.open(contexts_, first_rank_, work.deliver, setting_.is_direct);
    std::optional<notifier> interrupts;
    try {
        if (setting_.has_notifier) {
            interrupts.emplace(mapping_, office_, contexts_.front(),
                               setting_.bells().of_notifier(process_));
        }
    } catch (const std::system_error& trouble) {
        end_job({{}, no_thread(trouble).what(), {}});
    }
    // Ranks that have begun wait for those that cannot: there is no way back from an error here.
    const auto run_or_end = [&](std::uint32_t carrier) {
        try {
            run_carrier(work, carrier);
        } catch (const error& trouble) {
            end_job({{}, trouble.what(), {}});
        }
    };
    if (may_use_caller && carriers == 1) {
        run_or_end(0);
    } else {
        std::vector<rank_thread> threads;
        try {
            for (std::uint32_t c = 0; c < carriers; ++c) {
                threads.emplace_back([&run_or_end, c] { run_or_end(c); });
            }
        } catch (const std::system_error& trouble) {
            end_job({{}, no_thread(trouble).what(), {}});
        }
    }
    interrupts.reset();  // nobody adds calls any more
    for (std::unique_ptr<side_thread>& one : beside_) one.reset();
    return mapping_.process(process_).status;
}

void rank_host::run_carrier(const job& work, std::uint32_t carrier) {
    const signal_stack stack_for_signals;
    const std::uint32_t bell = process_ * setting_.shape.carriers_per_process + carrier;
    std::uint32_t bound_to = 0;
    if (!setting_.binding.empty() && bind_thread(setting_.binding[bell])) {
        bound_to = static_cast<std::uint32_t>(setting_.binding[bell]) + 1;
    }
    const std::span ranks(contexts_.data() + first_rank_[carrier],
                          first_rank_[carrier + 1] - first_rank_[carrier]);
    for (detail::rank_context& context : ranks) {
        publish(context.call->program_start, program_start);
        publish(context.call->process, static_cast<std::int32_t>(getpid()));
        publish(context.call->bound_to, bound_to);
        publish(context.call->thread_id, static_cast<std::uint32_t>(gettid()));
    }
    if (setting_.shape.has_fibers()) {
        fiber_carrier fibers(waiting_of(bell, &office_.room(carrier)), ranks, setting_.stack_bytes,
                             [&](detail::rank_context& context) { run_rank(work, context); });
        fibers.run();
        return;
    }
    thread_waiter own(waiting_of(bell, &office_.room(carrier)));
    detail::rank_context* const outer = detail::current_context;
    ranks.front().waiter = &own;
    detail::current_context = &ranks.front();
    run_rank(work, ranks.front());
    detail::current_context = outer;
}

void rank_host::run_rank(const job& work, detail::rank_context& context) {
    const int status = work.rank_main(context);
    publish(context.call->has_finished, 1u);
    std::int32_t none = 0;
    std::atomic_ref(mapping_.process(process_).status)
        .compare_exchange_strong(none, status, std::memory_order_relaxed);
}

waiter* rank_host::join_thread(const detail::rank_context& context) {
    const std::lock_guard lock(join_mutex_);
    const auto free = std::ranges::find(is_joined_, false);
    if (free == is_joined_.end()) return nullptr;
    *free = true;
    const auto slot = static_cast<std::uint32_t>(free - is_joined_.begin());
    thread_waiter& own = joined_[slot];
    note_joined(mapping_.process(process_), slot);
    own.set_mail(&office_.room_of(context));
    return &own;
}

void rank_host::leave_thread(waiter* own) {
    const std::lock_guard lock(join_mutex_);
    is_joined_[static_cast<std::size_t>(static_cast<thread_waiter*>(own) - joined_.data())] = false;
}

/// Handlers of one rank run one at a time, so nobody else makes its thread.
bool rank_host::call_beside(const detail::rank_context& context,
                            void (*function)(detail::rank_context&, void*), void* argument) {
    if (!setting_.has_notifier) return false;
    std::unique_ptr<side_thread>& beside = beside_[context.rank - contexts_.front().rank];
    if (beside == nullptr) {
        const std::uint32_t bell = setting_.bells().of_beside(context.rank);
        beside = std::make_unique<side_thread>(
            context, std::make_unique<thread_waiter>(waiting_of(bell, &office_.room_of(context))),
            *mapping_.record_beside(context.rank));
    }
    beside->add(function, argument);
    return true;
}

void rank_host::end_job(const failure& why) {
    std::uint32_t nobody = 0;
    const bool is_first = std::atomic_ref(mapping_.control().ending)
                              .compare_exchange_strong(nobody, 1, std::memory_order_relaxed);
    // Whoever is late leaves the ending to the first, whose words must not be cut off.
    while (!is_first && !is_in_error_handler()) pause();
    announce(why);
    say_last_words();
    flush_and_leave(1);
}

std::uint32_t rank_host::place_of(const detail::rank_context& context, locality where) const {
    const std::uint32_t bound_to = look_at(mapping_.record(context.rank).bound_to);
    switch (where) {
        case locality::process: return context.rank / setting_.shape.ranks_per_process;
        case locality::node: return 0;
        case locality::cache: return bound_to == 0 ? 0 : place_of_processor(bound_to - 1).cache;
        case locality::socket: break;
    }
    return bound_to == 0 ? 0 : place_of_processor(bound_to - 1).socket;
}

std::string rank_host::binding_report() const {
    std::string text;
    for (std::uint32_t rank = 0; rank < mapping_.control().ranks; ++rank) {
        const call_record& record = mapping_.record(rank);
        const std::uint32_t bound_to = look_at(record.bound_to);
        text += fmt::format("rank {}: process {}, thread {}, {}\n", rank,
                            rank / setting_.shape.ranks_per_process, look_at(record.thread_id),
                            bound_to == 0 ? "free to move over the usable cores"
                                          : fmt::format("bound to processor {}", bound_to - 1));
    }
    return text;
}

}  // namespace selion::machine::node
