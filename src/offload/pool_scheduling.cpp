// SPDX-License-Identifier: Apache-2.0
// Which call goes to which worker when, and how results come back.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/units.hpp"
#include "offload/pool_state.hpp"

namespace selion::detail {
namespace {

std::exception_ptr routine_trouble(const pending_call& call, std::uint32_t worker,
                                   const std::string& both) {
    const std::size_t end = std::min(both.find('\0'), both.size());
    const std::string type = both.substr(0, end);
    const std::string text = end == both.size() ? "" : both.substr(end + 1);
    return std::make_exception_ptr(
        routine_error(type, fmt::format("routine \"{}\" on worker {} ended with an exception of "
                                        "type {}: {}",
                                        call.name, worker, type, text)));
}

}  // namespace

/// What a waiting host looks for: the end of the oldest call of any worker.
class pool_state::ended_news final : public offload::news {
public:
    /// @param heeds_turns it is news as well that somebody wants a turn.
    ended_news(pool_state& pool, bool heeds_turns) : pool_(pool), heeds_turns_(heeds_turns) {}
    bool are_there() override {
        if (heeds_turns_ && pool_.is_wanted_.load(std::memory_order_relaxed)) return true;
        for (std::uint32_t worker = 0; worker < pool_.size(); ++worker) {
            const worker_place& place = pool_.places_[worker];
            if (place.sent.empty()) continue;
            if (pool_.workers_->has_ended(worker, place.first_turn())) return true;
        }
        return false;
    }

private:
    pool_state& pool_;
    bool heeds_turns_;
};

bool pool_state::rest(std::int64_t deadline_ns, bool looks, bool heeds_turns) {
    constexpr std::uint64_t rests_between_looks = 256;  // a look is a system call for each process
    constexpr std::uint64_t rests_between_glances = 16;
    ended_news look(*this, heeds_turns);
    if (timed_ != 0) deadline_ns = std::min(deadline_ns, first_deadline());
    workers_->rest(deadline_ns, looks, look);
    const bool has_news = look.are_there();
    if (!has_news || ++rests_ % rests_between_looks == 0) look_after_workers();
    if (!has_news || rests_ % rests_between_glances == 0) relieve_workers();
    if (timed_ != 0) look_at_deadlines();
    return has_news;
}

void pool_state::poll() {
    constexpr std::uint64_t polls_between_looks = 16;  // at the clock
    constexpr std::int64_t between_looks_ns = 5'000'000;
    progress();
    if (under_way_ != 0) workers_->let_others_run();
    if (under_way_ == 0 || ++polls_ % polls_between_looks != 0) return;
    const std::int64_t now_ns = workers_->now_ns();
    if (now_ns - looked_ns_ < between_looks_ns) return;
    looked_ns_ = now_ns;
    look_after_workers();
    relieve_workers();
    if (timed_ != 0) look_at_deadlines();
}

/// Results go before new calls to other workers.
void pool_state::progress() {
    expect_open();
    collect();
    if (handled_ != 0) return;
    if (most_taken_ != 0 || has_successors_) renew_spent();
    do {
        has_joined_ = false;
        if (waiting_count_ != 0) send_waiting();
    } while (has_joined_);
    if (is_uneven_) relieve_workers();
}

bool pool_state::collect() {
    const std::uint64_t before = under_way_;
    for (std::uint32_t worker = 0; worker < size(); ++worker) collect_from(worker);
    return under_way_ != before;
}

void pool_state::collect_from(std::uint32_t worker) {
    worker_place& place = places_[worker];
    while (!place.sent.empty() && workers_->has_ended(worker, place.first_turn())) {
        pending_call* const call = place.sent.front();
        place.sent.pop_front();
        if (call != nullptr) finish(worker, *call);
        // It has less to do now: before others are looked after it goes on.
        if (waiting_count_ != 0 && handled_ == 0) send_next(worker);
    }
}

/// What the host has done since then.
void pool_state::note(model_time& where, std::int64_t since_ps) {
    if (!measures_) return;
    constexpr double picoseconds = 1e-12;
    const std::int64_t now_ps = workers_->stamp_ps();
    noted_ps_ = now_ps;
    if (!first_ps_) first_ps_ = since_ps;
    where += model_time(static_cast<double>(now_ps - since_ps) * picoseconds);
    profile_.elapsed = model_time(static_cast<double>(now_ps - *first_ps_) * picoseconds);
}

/// A host that need not stand by while its transfers are under way has not noted what they take. So
/// a call for a worker that had nothing to do counts until that begins it, and where several are
/// under way, the time only once. Calls for workers that are busy are taken to be like those.
void pool_state::note_way(const pending_call& call, const offload::ended_call& ended) {
    if (ended.begun_ps == 0) return;
    if (call.sent_ps != 0) {
        const std::int64_t from_ps = std::max(call.sent_ps, way_until_ps_);
        if (ended.begun_ps > from_ps) way_ps_ += ended.begun_ps - from_ps;
        way_until_ps_ = std::max(way_until_ps_, ended.begun_ps);
        ++ways_;
    } else if (ways_ == 0) {
        return;
    }
    constexpr double picoseconds = 1e-12;
    const double calls = static_cast<double>(profile_.calls + 1);
    way_ =
        model_time(static_cast<double>(way_ps_) * picoseconds * calls / static_cast<double>(ways_));
}

/// One transfer after another: all together they take no longer than it took.
pool_profile pool_state::profile() const {
    pool_profile found = profile_;
    const model_time most = std::max(found.in, found.elapsed - found.out);
    found.in = std::min(found.in + way_, most);
    return found;
}

void pool_state::finish(std::uint32_t worker, pending_call& call) {
    const handling without_others(*this);  // which would be sent into the slot that this one leaves
    const std::int64_t since_ps = stamp_ps();
    const bool is_wanted = !call.is_settled;
    const offload::ended_call ended =
        workers_->take(worker, call.turn, is_wanted && call.has_results());
    std::exception_ptr trouble;
    switch (ended.outcome) {
        case offload::call_outcome::done:
            if (is_wanted) take_results(worker, call, ended);
            break;
        case offload::call_outcome::thrown:
            if (is_wanted)
                trouble = routine_trouble(call, worker, workers_->text(worker, call.turn));
            break;
        case offload::call_outcome::cancelled:
            if (call.wanted_worker == any_worker) --places_[worker].taken;
            if (is_wanted && !call.is_cancelled) return wait_again(call);  // it was asked back
            trouble = cancelled(call);
            break;
        case offload::call_outcome::unknown_routine:
            trouble = std::make_exception_ptr(
                error(status::bad_argument,
                      fmt::format("worker {} has no routine \"{}\"", worker, call.name)));
    }
    free_spans(worker, call);
    // What stands there for a call that was skipped is an earlier one's.
    if (ended.outcome != offload::call_outcome::cancelled) profile_.compute += ended.busy;
    if (measures_) note_way(call, ended);
    note(profile_.out, since_ps);
    if (measures_) ++profile_.calls;
    hold_worker(worker, call);
    end(call, std::move(trouble));
}

void pool_state::take_results(std::uint32_t worker, pending_call& call,
                              const offload::ended_call& ended) {
    std::memcpy(call.results.data(), ended.results, call.result_words * sizeof(std::uint64_t));
    std::uint32_t at = call.result_words;
    for (std::uint32_t i = 0; i < call.reference_count; ++i) {
        const pending_call::reference_use& use = call.references[i];
        std::memcpy(use.target, ended.results + at, use.bytes);
        at += static_cast<std::uint32_t>((use.bytes + sizeof(std::uint64_t) - 1) /
                                         sizeof(std::uint64_t));
    }
    for (std::uint32_t i = 0; i < call.span_count; ++i) {
        const pending_call::span_use& use = call.spans[i];
        if (!use.is_allocated || !comes_out(use.way)) continue;
        workers_->read(worker, use.offset, const_cast<void*>(use.data), use.bytes);
    }
}

std::uint32_t pool_state::least_loaded() const {
    std::uint32_t best = any_worker;
    for (std::uint32_t worker = 0; worker < size(); ++worker) {
        if (places_[worker].gone) continue;
        if (best == any_worker || places_[worker].sent.size() < places_[best].sent.size())
            best = worker;
    }
    return best;
}

/// Workers with least to do come first.
void pool_state::send_waiting() {
    for (std::uint32_t load = 0; load < depth_; ++load) {
        for (std::uint32_t worker = 0; worker < size(); ++worker) {
            if (places_[worker].gone || places_[worker].sent.size() != load) continue;
            if (send_next(worker)) collect();
            if (waiting_count_ == 0) return;
        }
    }
}

/// The oldest call that only this worker can have, else the oldest of the others that it can have.
/// Who fetches a result from where it lies does not wait for work that was queued before.
/// @return whether a call was taken from those that wait.
bool pool_state::send_next(std::uint32_t worker) {
    constexpr std::size_t most_looked_at = 64;  // of those that are not for this worker
    const bool has_own = !places_[worker].pinned.empty();
    const std::deque<pending_call*>& queue = has_own ? places_[worker].pinned : waiting_;
    for (std::size_t i = 0; i < std::min(queue.size(), most_looked_at); ++i) {
        pending_call& call = *queue[i];
        if (!may_have(places_[worker], call)) return false;
        switch (offer(worker, call)) {
            case offer_end::sent:
            case offer_end::failed: return true;
            case offer_end::must_wait: return false;
            case offer_end::not_here: break;
        }
    }
    return false;
}

void pool_state::remove_waiting(pending_call& call) {
    std::deque<pending_call*>& queue =
        call.wanted_worker == any_worker ? waiting_ : places_[call.wanted_worker].pinned;
    if (queue.front() == &call) {
        queue.pop_front();
    } else {
        queue.erase(std::ranges::find(queue, &call));
    }
    --waiting_count_;
}

/// A call that its worker has not begun, and will not begin, waits in front of all others.
void pool_state::wait_again(pending_call& call) {
    free_spans(call.worker, call);
    std::deque<pending_call*>& queue =
        call.wanted_worker == any_worker ? waiting_ : places_[call.wanted_worker].pinned;
    queue.push_front(&call);
    call.now = pending_call::phase::waiting;
    call.may_have_begun = false;
    call.sent_ps = 0;
    ++waiting_count_;
}

/// Sends a call if the worker can have it. Once it is sent, or has failed, it waits no longer.
pool_state::offer_end pool_state::offer(std::uint32_t worker, pending_call& call) {
    const std::int64_t since_ps = stamp_ps();
    const bool is_lost = has_lost_array(worker, call);
    const bool fits = !is_lost && allocate_spans(worker, call);
    if (!fits && !is_lost && !places_[worker].sent.empty()) return offer_end::must_wait;
    if (!fits && call.wanted_worker == any_worker) {
        for (std::uint32_t other = 0; other < size(); ++other) {
            if (other != worker && can_have(other, call)) return offer_end::not_here;
        }
    }
    if (call.now == pending_call::phase::waiting) remove_waiting(call);
    if (!fits) {
        end(call, misfit(worker, call));
        return offer_end::failed;
    }
    send(worker, call, since_ps);
    return offer_end::sent;
}

void pool_state::send(std::uint32_t worker, pending_call& call, std::int64_t since_ps) {
    worker_place& place = places_[worker];
    const bool was_idle = place.sent.empty();
    const handling without_others(*this);  // which would take the same turn
    call.worker = worker;
    call.turn = place.last_turn + 1;
    call.now = pending_call::phase::sent;
    place_spans(worker, call);
    place.last_turn = call.turn;
    place.sent.push_back(&call);
    if (call.wanted_worker == any_worker) ++place.taken;
    workers_->send(worker, {call.turn, call.routine, std::span(call.words).first(call.word_count)});
    note(profile_.in, since_ps);
    if (was_idle) call.sent_ps = noted_ps_;
}

bool pool_state::has_lost_array(std::uint32_t worker, const pending_call& call) const {
    for (std::uint32_t i = 0; i < call.span_count; ++i) {
        const pending_call::span_use& use = call.spans[i];
        if (!use.is_array) continue;
        const std::uint32_t generation =
            use.replicas.empty() ? use.generation : use.replicas[worker].generation;
        if (generation != places_[worker].generation) return true;
    }
    return false;
}

/// Now, or when it has done what it has.
bool pool_state::can_have(std::uint32_t worker, pending_call& call) {
    const worker_place& place = places_[worker];
    if (place.gone || has_lost_array(worker, call)) return false;
    if (!place.sent.empty()) return true;
    const bool fits = allocate_spans(worker, call);
    free_spans(worker, call);
    return fits;
}

/// In a worker's memory, to travel.
bool pool_state::needs_room(const pending_call::span_use& use) const {
    return !use.is_array && use.bytes != 0 && !workers_->place_of_host(use.data, use.bytes);
}

/// Room in the worker's memory for spans that travel; all of them or none.
bool pool_state::allocate_spans(std::uint32_t worker, pending_call& call) {
    for (std::uint32_t i = 0; i < call.span_count; ++i) {
        pending_call::span_use& use = call.spans[i];
        if (!needs_room(use)) continue;
        const auto extent = places_[worker].memory.allocate(padded(use.bytes), place_alignment,
                                                            workers_->memory_bytes());
        if (!extent) {
            free_spans(worker, call);
            return false;
        }
        use.offset = extent->start;
        use.is_allocated = true;
    }
    return true;
}

/// Why a worker that has nothing to do cannot have a call.
std::exception_ptr pool_state::misfit(std::uint32_t worker, const pending_call& call) const {
    if (has_lost_array(worker, call)) {
        return std::make_exception_ptr(
            error(status::rank_dead,
                  fmt::format("an argument of routine \"{}\" lay in the memory of worker {}, which "
                              "has died since",
                              call.name, worker)));
    }
    return std::make_exception_ptr(
        error(status::out_of_memory,
              fmt::format("the arguments of routine \"{}\" do not fit in the memory of worker {}: "
                          "{} of {} are used by arrays",
                          call.name, worker, base::bytes_text(places_[worker].memory.used_bytes()),
                          base::bytes_text(workers_->memory_bytes()))));
}

/// Writes into the frame where the worker finds spans.
void pool_state::place_spans(std::uint32_t worker, pending_call& call) {
    for (std::uint32_t i = 0; i < call.span_count; ++i) {
        pending_call::span_use& use = call.spans[i];
        if (!use.replicas.empty()) use.offset = use.replicas[worker].offset;
        call.words[use.word] = place_span(worker, call, use);
    }
}

/// Sends a span, if it has to travel. @return where the worker finds it.
std::uint64_t pool_state::place_span(std::uint32_t worker, const pending_call& call,
                                     pending_call::span_use& use) {
    if (use.is_array) return workers_->place_of_own(worker, use.offset);
    if (use.bytes == 0) return workers_->place_of_own(worker, 0);  // nobody looks there
    if (!use.is_allocated) return *workers_->place_of_host(use.data, use.bytes);
    if (use.way == transfer::in) {
        const auto packed = workers_->pack(call.turn, call.word_count, use.data, use.bytes);
        if (packed) return *packed;
    }
    if (goes_in(use.way)) workers_->write(worker, use.offset, use.data, use.bytes);
    return workers_->place_of_own(worker, use.offset);
}

void pool_state::free_spans(std::uint32_t worker, pending_call& call) {
    for (std::uint32_t i = 0; i < call.span_count; ++i) {
        pending_call::span_use& use = call.spans[i];
        if (!std::exchange(use.is_allocated, false)) continue;
        places_[worker].memory.deallocate(use.offset);
    }
}

}  // namespace selion::detail
