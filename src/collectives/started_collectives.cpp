// SPDX-License-Identifier: Apache-2.0
#include "collectives/started_collectives.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "collectives/movers.hpp"
#include "collectives/team_check.hpp"
#include "machine/machine.hpp"
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
    packed_.resize(bytes_of(data));
    copy_pieces(packed_.data(), data);
    message_inbox::send(members_.world_rank(member), name_, packed_, call_,
                        &started_collectives::receive);
}

std::span<const std::byte> started_way::receive(std::uint32_t member, std::size_t /*expected*/) {
    last_ = inbox_.pop(name_of(member));
    return {last_.data.data(), last_.bytes};
}

bool started_way::has_all(detail::rank_context& context, const schedule_step& step) const {
    std::map<std::uint32_t, std::size_t> wanted;
    for (const schedule_message& message : step.receives) ++wanted[message.peer];
    for (const auto& [member, count] : wanted) {
        const std::size_t come = inbox_.complete(name_of(member));
        if (come != 0) expect_same_call(context, member);
        if (come < count) return false;
    }
    return true;
}

void started_way::expect_same_call(detail::rank_context& context, std::uint32_t member) const {
    const call_signature& theirs = inbox_.front(name_of(member)).call;
    if (call_.agrees_with(theirs)) return;
    context.host->launcher().end_job(
        context,
        fmt::format("the ranks disagree about started collective #{} of {}: rank {} "
                    "starts {}, rank {} starts {}",
                    name_.number,
                    name_.team == 0 ? std::string("all ranks")
                                    : fmt::format("a team of {}", members_.count()),
                    context.rank, text_of(call_), members_.world_rank(member), text_of(theirs)));
}

started_collective::started_collective(detail::rank_context& context, const team_members& members,
                                       message_inbox& inbox, detail::started_call what, plan how,
                                       detail::future_state& result)
    : context_(context),
      what_(std::move(what)),
      how_(std::move(how)),
      way_(inbox, members, how_.name, how_.call),
      runner_(context, members, what_.call, how_.schedule, way_),
      result_(result) {
    if (what_.call.how != nullptr) what_.call.how = &what_.how;
}

bool started_collective::advance() {
    if (how_.may_begin && !*how_.may_begin) return false;
    if (!std::exchange(has_begun_, true)) runner_.prepare();
    while (step_ < how_.schedule.steps.size()) {
        const schedule_step& step = how_.schedule.steps[step_];
        if (!std::exchange(has_sent_, true)) runner_.send(step);
        if (!way_.has_all(context_, step)) return false;
        runner_.receive(step);
        has_sent_ = false;
        ++step_;
    }
    runner_.finish();
    if (how_.is_over) *how_.is_over = true;
    detail::fulfil(result_);
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

/// Letting go of those that are over may end a team, which is for the rank's own code to do.
void started_collectives::start(std::unique_ptr<started_collective> one) {
    // acquire: what it holds [started.list]
    drop(over_.exchange(nullptr, std::memory_order_acquire));
    ++started_;
    add(added_, new node{std::move(one), nullptr});
    advance();
}

void started_collectives::finish(detail::rank_context& context) {
    detail::await(context, {.word = finished_,
                            .at_least = started_,
                            .reason = machine::wait_reason::message,
                            .others = {}});
}

/// A handler.
void started_collectives::receive(detail::delivery& here) {
    started_collectives& all = *detail::current_context->started;
    all.inbox_.add(here.message);
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
    for (auto one = under_way_.begin(); one != under_way_.end();) {
        if (!(*one)->one->advance()) {
            ++one;
            continue;
        }
        add(over_, *one);
        detail::count_together(*detail::current_context, finished_);
        one = under_way_.erase(one);
    }
}

}  // namespace selion::collectives
