// SPDX-License-Identifier: Apache-2.0
#include "world/end_of_job.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <utility>

#include "machine/call_record.hpp"
#include "onesided/deaths.hpp"
#include "onesided/message_state.hpp"
#include "onesided/waiting.hpp"
#include "selion/counter.hpp"
#include "selion/detail/message_function.hpp"
#include "selion/error.hpp"

namespace selion::detail {
namespace {

/// Of a round of the end: whether the rank has handled anything since the last one.
struct end_notice {
    std::uint64_t round;
    std::uint64_t news;
};
/// In place of a round: the rank wants nothing more of anybody.
constexpr std::uint64_t leaving = UINT64_MAX;

/// One rank as the others know it. It may be a round ahead, so rounds take turns.
struct end_of_rank {
    std::atomic<std::uint64_t> round = 0;  ///< the last it has told; or `leaving`
    std::array<std::atomic<std::uint64_t>, 2> news{};
};

struct end_notices {
    explicit end_notices(std::uint32_t count) : ranks(count) {}
    std::deque<end_of_rank> ranks;
    shared_word come{};  ///< notices
};

end_notices& notices_of(const rank_context& context) {
    return *static_cast<end_notices*>(context.messages->end_notices.get());
}

/// A handler.
void take_notice(incoming_message& here) {
    rank_context& context = *current_context;
    end_notice told{};
    std::memcpy(&told, here.arguments.data(), sizeof told);
    context.messages->leave_out_of_handled();
    end_notices& all = notices_of(context);
    end_of_rank& from = all.ranks[here.about.origin];
    if (told.round != leaving) {
        from.news[told.round % 2].store(told.news, std::memory_order_relaxed);
    }
    // release: with the news; pairs with who counts it [end.notice]
    from.round.store(told.round, std::memory_order_release);
    count_together(context, all.come);
}

void tell_all(rank_context& context, const end_notice& what) {
    for (std::uint32_t i = 1; i < context.ranks; ++i) {
        const std::uint32_t rank = (context.rank + i) % context.ranks;
        if (context.deaths->is_dead(rank)) continue;
        try {
            context.transport->send(context, {.target = rank,
                                              .kind = 0,
                                              .handler = encode_function(&take_notice),
                                              .arguments = std::as_bytes(std::span(&what, 1))});
        } catch (const error& trouble) {
            if (trouble.code() != status::rank_dead) throw;  // one less to tell
        }
    }
}

/// Until every other rank has told so much, has gone or is dead.
void await_notices(rank_context& context, std::uint64_t round) {
    end_notices& all = notices_of(context);
    machine::death_list& deaths = *context.deaths;
    while (true) {
        const std::uint64_t come = word_load(all.come);
        const std::uint64_t told = deaths.told();
        bool has_all = true;
        for (std::uint32_t rank = 0; rank < context.ranks; ++rank) {
            const bool counts = rank != context.rank && !deaths.is_dead(rank);
            // acquire: the news [end.notice]
            has_all &= !counts || all.ranks[rank].round.load(std::memory_order_acquire) >= round;
        }
        if (has_all) return;
        const machine::awaited_word death{&deaths.word(), told + 1};
        await(context, {.word = all.come,
                        .at_least = come + 1,
                        .reason = machine::wait_reason::end,
                        .others = {&death, 1}});
    }
}

std::uint64_t sum_of(rank_context& context, std::uint64_t round) {
    std::uint64_t sum = 0;
    for (const end_of_rank& one : notices_of(context).ranks) {
        const std::uint64_t told = one.round.load(std::memory_order_relaxed);
        const bool counts = told >= round && told != leaving;
        if (counts) sum += one.news[round % 2].load(std::memory_order_relaxed);
    }
    return sum;
}

}  // namespace

std::shared_ptr<void> make_end_notices(std::uint32_t ranks) {
    return std::make_shared<end_notices>(ranks);
}

void empty_mail(rank_context& context) {
    while (context.transport->poll(context) || context.transport->has_mail(context)) {
        let_others_run(context);
    }
}

std::uint64_t end_news::look(rank_context& context) {
    const std::uint64_t done =
        context.messages->completions.finish(context) + context.messages->handled();
    return std::exchange(counted_, done) != done ? 1 : 0;
}

void end_among_mortals(rank_context& context, std::source_location site) {
    machine::publish(context.call->has_finished, 1u);
    end_news own;
    std::uint64_t news = 1;  // all may have had some before they came here
    for (std::uint64_t round = 1;; ++round) {
        {
            const machine::call_scope scope(context, machine::operation::end_of_run, site);
            context.transport->quiet(context);
            tell_all(context, {round, news});
            await_notices(context, round);
            const bool is_over = news + sum_of(context, round) == 0;
            empty_mail(context);
            if (is_over) break;
        }
        const machine::call_scope scope(context, machine::operation::completions, site);
        news = own.look(context);
    }
    const machine::call_scope scope(context, machine::operation::end_of_run, site);
    context.transport->quiet(context);
    machine::publish(context.call->is_leaving, 1u);
    tell_all(context, {leaving, 0});
    await_notices(context, leaving);
}

}  // namespace selion::detail
