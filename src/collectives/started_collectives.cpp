// SPDX-License-Identifier: Apache-2.0
#include "collectives/started_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include "collectives/movers.hpp"
#include "collectives/team_check.hpp"
#include "machine/machine.hpp"
#include "onesided/message_state.hpp"
#include "onesided/waiting.hpp"
#include "selion/counter.hpp"

namespace selion::collectives {
namespace {

/// The word of movers.hpp.
struct mover_count {
    std::atomic<std::uint64_t>& word;

    std::uint64_t add(std::uint64_t one) const {
        // release: news before the count [started.movers]
        return word.fetch_add(one, std::memory_order_release);
    }
    // acquire: the news of those that have counted, and what the last mover has left
    // [started.movers]
    std::uint64_t current() const { return word.load(std::memory_order_acquire); }
    bool exchange_if(std::uint64_t seen, std::uint64_t value) const {
        // release: what has been moved; acquire: news that came meanwhile [started.movers]
        return word.compare_exchange_strong(seen, value,
                                            std::memory_order_acq_rel,   // [started.movers]
                                            std::memory_order_acquire);  // [started.movers]
    }
};

}  // namespace

void started_way::send(std::uint32_t member, message_pieces data, bool /*may_lend*/) {
    message_inbox::send(members_.world_rank(member), name_, packed_.all_of(data), call_.call,
                        &started_collectives::receive);
}

/// Lengths that members give may disagree; all else has been compared.
std::span<const std::byte> started_way::receive(std::uint32_t member, std::size_t expected) {
    last_ = inbox_.pop(name_of(member));
    if (last_.bytes != expected) {
        detail::rank_context& context = *detail::current_context;
        context.host->launcher().end_job(
            context,
            fmt::format("rank {} has sent {} bytes to rank {}, which expects {}, in started "
                        "collective #{}: {}",
                        members_.world_rank(member), last_.bytes, context.rank, expected,
                        name_.number, text_of(call_)));
    }
    return {last_.data.data(), last_.bytes};
}

bool started_way::has_all(const schedule_step& step) const {
    std::map<std::uint32_t, std::size_t> wanted;
    for (const schedule_message& message : step.receives) ++wanted[message.peer];
    return std::ranges::all_of(
        wanted, [&](const auto& one) { return inbox_.complete(name_of(one.first)) >= one.second; });
}

started_collective::started_collective(detail::rank_context& context, const team_members& members,
                                       message_inbox& inbox, detail::started_call what, plan how,
                                       detail::future_state& result)
    : members_(members),
      what_(std::move(what)),
      how_(std::move(how)),
      way_(inbox, members, how_.name, how_.call),
      runner_(context, members, what_.call, how_.schedule, way_),
      result_(result) {
    if (what_.call.how != nullptr) what_.call.how = &what_.how;
}

bool started_collective::advance() {
    try {
        onesided::expect_alive(*detail::current_context, members_, name_of(what_.call.what));
        if (!take_steps()) return false;
    } catch (...) {
        result_.trouble = std::current_exception();  // a member has died
        has_failed_ = true;
    }
    if (how_.is_over) *how_.is_over = true;
    fulfil_result();
    return true;
}

/// What continues runs as a handler does: the other collectives stand still meanwhile.
void started_collective::fulfil_result() {
    detail::rank_context& caller = *detail::current_context;
    const bool was_in_handler = std::exchange(caller.own.in_handler, true);
    const void* const plain = std::exchange(caller.own.plain_caller, &detail::no_plain_caller);
    detail::fulfil(result_);
    caller.own.plain_caller = plain;
    caller.own.in_handler = was_in_handler;
}

/// @return whether it has taken all.
bool started_collective::take_steps() {
    if (how_.may_begin && !*how_.may_begin) return false;
    if (!std::exchange(has_begun_, true)) runner_.prepare();
    while (step_ < how_.schedule.steps.size()) {
        const schedule_step& step = how_.schedule.steps[step_];
        if (!std::exchange(has_sent_, true)) runner_.send(step);
        if (!way_.has_all(step)) return false;
        runner_.receive(step);
        has_sent_ = false;
        ++step_;
    }
    runner_.finish();
    return true;
}

started_collectives::~started_collectives() {
    take_added();
    for (node* one : under_way_) delete one;
    // acquire: what it holds [started.list]
    drop(over_.load(std::memory_order_acquire));
}

void started_collectives::add(std::atomic<node*>& list, node* one) {
    one->next = list.load(std::memory_order_relaxed);
    // release: what it holds, for who takes the list [started.list]
    while (!list.compare_exchange_weak(one->next, one, std::memory_order_release,
                                       std::memory_order_relaxed)) {
    }
}

void started_collectives::drop(node* list) {
    while (list != nullptr) delete std::exchange(list, list->next);
}

/// May end a team, which is for the rank's own code to do.
void started_collectives::let_go() {
    // acquire: what it holds [started.list]
    drop(over_.exchange(nullptr, std::memory_order_acquire));
}

void started_collectives::start(std::unique_ptr<started_collective> one) {
    let_go();
    ++started_;
    add(added_, new node{std::move(one), nullptr});
    advance();
}

void started_collectives::finish(detail::rank_context& context) {
    detail::await(context, {.word = finished_,
                            .at_least = started_,
                            .reason = machine::wait_reason::message,
                            .others = {}});
    let_go();
}

/// A handler.
void started_collectives::receive(detail::delivery& here) {
    detail::rank_context& context = *detail::current_context;
    if (context.started == nullptr) {
        context.host->launcher().end_job(
            context, fmt::format("rank {} has sent a message of a started collective to rank {}, "
                                 "whose function has returned without starting it",
                                 here.message.about.origin, context.rank));
    }
    started_collectives& all = *context.started;
    all.inbox_.add(here.message);
    detail::count_together(context, context.messages->above.news);
    here.completion = [](void* own) { static_cast<started_collectives*>(own)->advance(); };
    here.completion_argument = &all;
}

void started_collectives::advance() {
    mover_count count{movers_};
    movers::move_or_leave(count, [this] { advance_all(); });
}

void started_collectives::take_added() {
    // acquire: what it holds [started.list]
    node* last = added_.exchange(nullptr, std::memory_order_acquire);
    const auto end_of_known = under_way_.end();
    auto place = end_of_known;
    for (; last != nullptr; last = last->next) place = under_way_.insert(place, last);
}

/// In the order in which they were started: one may wait for another before it.
void started_collectives::advance_all() {
    take_added();
    inbox_.sort_in();
    for (const collective_name& name : inbox_.names()) expect_same_calls(name);
    for (auto one = under_way_.begin(); one != under_way_.end();) {
        if (!(*one)->one->advance()) {
            ++one;
            continue;
        }
        note_over(*(*one)->one);
        add(over_, *one);
        detail::count_together(*detail::current_context, finished_);
        one = under_way_.erase(one);
    }
}

/// A few are remembered, for who sends to one that is over: that one was another at the sender.
void started_collectives::note_over(const started_collective& one) {
    constexpr std::size_t remembered = 64;
    over_calls_.push_back({one.name(), one.call(), one.members(), one.has_failed()});
    if (over_calls_.size() > remembered) over_calls_.pop_front();
    expect_same_calls(one.name());
}

/// Ends the job when messages of a collective belong to another call than the own one. Of those
/// that are not started here yet nothing is known.
void started_collectives::expect_same_calls(const collective_name& name) {
    for (const auto& [sender, call] : inbox_.next_of(name)) {
        const auto own = std::ranges::find_if(
            under_way_, [&](const node* one) { return one->one->name() == name; });
        if (own != under_way_.end() && !(*own)->one->call().call.agrees_with(call)) {
            const placed_call& mine = (*own)->one->call();
            end_for_other_start(*detail::current_context, name, (*own)->one->members(), mine,
                                sender, told_by_message(call, mine));
        }
        const auto over = std::ranges::find(over_calls_, name, &known_call::name);
        if (over == over_calls_.end()) continue;
        // One that has failed has not taken all that belongs to it.
        if (over->has_failed && over->call.call.agrees_with(call)) return inbox_.drop(name);
        end_for_other_start(*detail::current_context, name, over->members, over->call, sender,
                            told_by_message(call, over->call));
    }
}

}  // namespace selion::collectives
