// SPDX-License-Identifier: Apache-2.0
#include "collectives/started_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include "collectives/call_shape.hpp"
#include "collectives/movers.hpp"
#include "collectives/team_check.hpp"
#include "machine/machine.hpp"
#include "onesided/as_handler.hpp"
#include "onesided/message_state.hpp"
#include "onesided/waiting.hpp"
#include "selion/counter.hpp"
#include "selion/error.hpp"

namespace selion::collectives {
namespace {

/// What a member lets member 0 of its team know.
struct told_call {
    placed_call call;
    std::uint32_t members;  ///< of the team
};

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

/// Who only passes on what others need does so for no longer than the call may take in which it
/// does, also as a completion handler.
class outer_deadline {
public:
    explicit outer_deadline(detail::rank_context& context)
        : context_(context), deadline_ns_(context.own.deadline_ns) {
        context.own.deadline_ns = std::min(deadline_ns_, context.own.outer_deadline_ns);
    }
    ~outer_deadline() { context_.own.deadline_ns = deadline_ns_; }
    outer_deadline(const outer_deadline&) = delete;
    outer_deadline& operator=(const outer_deadline&) = delete;

private:
    detail::rank_context& context_;
    std::int64_t deadline_ns_;
};

}  // namespace

void started_way::send(std::uint32_t member, message_pieces data, bool /*may_lend*/) {
    message_inbox::send(members_.world_rank(member), name_, packed_.all_of(data), call_.call,
                        &started_collectives::receive, sent_bytes_);
    sent_bytes_ = 0;
}

void started_way::tell_call() {
    const told_call told{.call = call_, .members = members_.count()};
    std::size_t sent_bytes = 0;  // one part
    message_inbox::send(members_.world_rank(0), name_, std::as_bytes(std::span(&told, 1)),
                        call_.call, &started_collectives::receive_call, sent_bytes);
}

/// Lengths that members give may disagree; all else has been compared.
std::span<const std::byte> started_way::receive(std::uint32_t member, std::size_t expected,
                                                std::byte* /*place*/) {
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
    : members_(members), what_(std::move(what)), how_(std::move(how)), result_(result) {
    way_.emplace(inbox, members, how_.name, how_.call);
    runner_.emplace(context, members, what_.call, how_.schedule, *way_);
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
    give_memory_back();
    if (how_.is_over) *how_.is_over = true;
    onesided::fulfil_as_handler(result_);  // the other collectives stand still meanwhile
    return true;
}

/// @return whether it has taken all.
bool started_collective::take_steps() {
    while (true) {
        if (!send_all()) return false;
        if (step_ == how_.schedule.steps.size()) return true;
        const schedule_step& step = how_.schedule.steps[step_];
        if (!way_->has_all(step)) return false;
        runner_->receive(step);
        has_sent_ = false;
        ++step_;
    }
}

/// What can be sent now. @return whether messages are to be received next, or none is left.
bool started_collective::send_all() {
    is_stopped_ = false;
    try {
        if (how_.is_compared && !has_told_) way_->tell_call();
        has_told_ = true;
        if (how_.may_begin && !*how_.may_begin) return false;
        if (step_ == how_.own_steps.first) prepare();
        if (step_ == how_.own_steps.end) finish();
        if (!has_sent_ && step_ < how_.schedule.steps.size()) {
            runner_->send(how_.schedule.steps[step_]);
        }
        has_sent_ = true;
        return true;
    } catch (const error& why) {
        // The time is over of the wait in which it was moved on. What has been sent is noted.
        if (why.code() != status::timed_out) throw;
        is_stopped_ = true;
        return false;
    }
}

/// Behind the entry meeting: before, members may still change what they give.
void started_collective::prepare() {
    if (!std::exchange(is_prepared_, true)) runner_->prepare();
}

/// Before the exit meeting: then others may change what this member has got.
void started_collective::finish() {
    if (std::exchange(is_finished_, true)) return;
    runner_->finish();
    fill_first(members_, what_.call);
}

/// What may be long, by whoever has taken the last step. The rest belongs to the rank's own code,
/// which may not come to it for long.
void started_collective::give_memory_back() {
    runner_.reset();
    way_.reset();
    how_.schedule = {};
}

started_collectives::~started_collectives() {
    take_added();
    while (node* const one = order_.oldest()) {
        order_.remove(*one);
        delete one;
    }
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
    add(added_, new node{std::move(one), started_, nullptr});
    advance();
}

void started_collectives::go_on(detail::rank_context& context) {
    if (!has_stopped_.load(std::memory_order_relaxed)) return;
    context.messages->completions.add_to_own_stack(
        context, {.function = [](void* own) { static_cast<started_collectives*>(own)->advance(); },
                  .argument = this});
}

void started_collectives::finish(detail::rank_context& context) {
    detail::await(context, {.word = finished_,
                            .at_least = started_,
                            .reason = machine::wait_reason::message,
                            .others = {}});
    let_go();
}

/// A handler.
void started_collectives::receive(detail::incoming_message& here) {
    detail::rank_context& context = *detail::current_context;
    if (context.started == nullptr) {
        context.host->launcher().end_job(
            context, fmt::format("rank {} has sent a message of a started collective to rank {}, "
                                 "whose function has returned without starting it",
                                 here.about.origin, context.rank));
    }
    context.started->add_to(context.started->inbox_, here);
}

/// A handler. Where the rank's function has returned and all have met, nobody compares any more.
void started_collectives::receive_call(detail::incoming_message& here) {
    started_collectives* const own = detail::current_context->started;
    if (own != nullptr) own->add_to(own->told_, here);
}

void started_collectives::add_to(message_inbox& inbox, detail::incoming_message& here) {
    inbox.add(here);
    detail::rank_context& context = *detail::current_context;
    detail::count_together(context, context.messages->above.news);
    here.completion = [](void* own) { static_cast<started_collectives*>(own)->advance(); };
    here.completion_argument = this;
}

void started_collectives::advance() {
    const outer_deadline deadline(*detail::current_context);
    mover_count count{movers_};
    movers::move_or_leave(count, [this] {
        take_news();
        advance_awake();
    });
}

/// The first one first.
void started_collectives::take_added() {
    // acquire: what it holds [started.list]
    node* last = added_.exchange(nullptr, std::memory_order_acquire);
    for (; last != nullptr; last = last->next) order_.add(*last);
}

/// What has been started, what others have sent, and who has died.
void started_collectives::take_news() {
    take_added();
    compare_told();
    come_.clear();
    inbox_.sort_in(come_);
    for (const collective_name& name : come_) {
        if (node* const own = order_.find(name)) {
            order_.wake(*own);
        } else {
            expect_same_as_over(name);
        }
    }
    order_.for_all_awake([this](const node& own) { expect_same_start(own); });
    const machine::death_list* const deaths = detail::current_context->deaths;
    const std::uint32_t dead = deaths == nullptr ? 0 : deaths->declared();
    if (std::exchange(heeded_deaths_, dead) != dead) order_.wake_all();
}

/// In the order in which they were started: one may wait for another before it.
void started_collectives::advance_awake() {
    std::vector<node*> stopped;
    while (node* const own = order_.next()) {
        if (own->one->advance()) {
            end(*own);
        } else if (own->one->is_stopped()) {
            stopped.push_back(own);
        }
    }
    for (node* const own : stopped) order_.wake(*own);
    has_stopped_.store(!stopped.empty(), std::memory_order_relaxed);
    const node* const oldest = order_.oldest();
    machine::publish(detail::current_context->call->under_way,
                     oldest == nullptr ? 0 : oldest->one->call().call.what);
}

/// Members tell member 0 what they start. So a difference is found also where each waits for
/// another's message, and whether or not member 0 has come to that collective.
void started_collectives::compare_told() {
    told_.sort_in();
    for (const collective_name& name : told_.names()) {
        for (const auto& [sender, call] : told_.next_of(name)) {
            const message_inbox::message come = told_.pop({name, sender});
            told_call told{};
            std::memcpy(&told, come.data.data(), std::min(come.bytes, sizeof told));
            const auto [other, theirs] =
                book_.note({name.team, name.number}, {sender, told.call}, told.members);
            if (told.call.call.agrees_with(theirs.call)) continue;
            end_for_other_start(*detail::current_context, name, told.members, {sender, told.call},
                                {other, theirs});
        }
    }
}

/// A few are remembered, for who sends to one that is over: that one was another at the sender.
void started_collectives::end(node& over) {
    constexpr std::size_t remembered = 64;
    const started_collective& one = *over.one;
    order_.remove(over);
    over_calls_.push_back({one.name(), one.call(), one.members(), one.has_failed()});
    if (over_calls_.size() > remembered) over_calls_.pop_front();
    expect_same_as_over(one.name());
    add(over_, &over);
    detail::count_together(*detail::current_context, finished_);
}

/// Ends the job when messages of a collective belong to another call than the own one.
void started_collectives::expect_same_start(const node& own) {
    const placed_call& mine = own.one->call();
    for (const auto& [sender, call] : inbox_.next_of(own.name())) {
        if (mine.call.agrees_with(call)) continue;
        end_for_other_start(*detail::current_context, own.name(), own.one->members(),
                            {detail::current_context->rank, mine},
                            {sender, told_by_message(call, mine)});
    }
}

/// The same of one that is not under way: nobody wants its messages if it is over. Of those that
/// are not started here yet nothing is known.
void started_collectives::expect_same_as_over(const collective_name& name) {
    const auto over = std::ranges::find(over_calls_, name, &known_call::name);
    if (over == over_calls_.end()) return;
    for (const auto& [sender, call] : inbox_.next_of(name)) {
        // One that has failed has not taken all that belongs to it.
        if (over->has_failed && over->call.call.agrees_with(call)) return inbox_.drop(name);
        end_for_other_start(*detail::current_context, name, over->members,
                            {detail::current_context->rank, over->call},
                            {sender, told_by_message(call, over->call)});
    }
}

}  // namespace selion::collectives
