// SPDX-License-Identifier: Apache-2.0
#include "machine/node/fiber_carrier.hpp"

#include <algorithm>
#include <utility>

#include "machine/fiber/exception_state.hpp"
#include "machine/node/sleep_protocol.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::node {

/// One rank, or the carrier's own stack.
class fiber_carrier::fiber_rank final : public waiter {
public:
    fiber_rank(fiber_carrier& owner, detail::rank_context* context)
        : owner_(owner), context_(context) {}

    bool wait(const wait_request& request) override { return owner_.wait(*this, request); }
    void end_early() override { word_ = nullptr; }

    bool has_arrived() const {
        if (word_ == nullptr || detail::word_load(*word_) >= at_least_) return true;
        return has_others_ && request_->has_arrived();
    }

    fiber_carrier& owner_;
    detail::rank_context* context_;
    boost::context::fiber fiber_;
    detail::shared_word* word_ = nullptr;  ///< awaited; null when it can run
    std::uint64_t at_least_ = 0;
    const wait_request* request_ = nullptr;  ///< of the wait that goes on
    bool has_others_ = false;                ///< it waits for other words as well
    std::int64_t deadline_ns_ = no_deadline;
    exception_state exceptions_;
    sanitizer_fiber sanitizer_;
    bool has_ended_ = false;
};

fiber_carrier::fiber_carrier(const wait_setting& setting, std::span<detail::rank_context> contexts,
                             std::size_t stack_bytes,
                             std::function<void(detail::rank_context&)> body)
    : setting_(setting),
      body_(std::move(body)),
      thread_(std::make_unique<fiber_rank>(*this, nullptr)),
      live_(contexts.size()) {
    fiber_stack stacks(stack_bytes);
    for (detail::rank_context& context : contexts) {
        auto rank = std::make_unique<fiber_rank>(*this, &context);
        context.waiter = rank.get();
        const boost::context::stack_context stack = stacks.allocate();
        // Fibers that stop at the same depth must not meet in one set of the first-level cache.
        const std::size_t shift = ranks_.size() % 32 * detail::line_bytes;
        std::byte* const top = static_cast<std::byte*>(stack.sp) - shift;
        rank->sanitizer_.set_stack(top - (stack.size - shift), stack.size - shift);
        rank->fiber_ = boost::context::fiber(
            std::allocator_arg, boost::context::preallocated(top, stack.size - shift, stack),
            stacks, [this, self = rank.get()](boost::context::fiber&& from) {
                return enter(*self, std::move(from));
            });
        ranks_.push_back(std::move(rank));
    }
}

fiber_carrier::~fiber_carrier() {
    for (const auto& rank : ranks_) rank->sanitizer_.destroy();
}

void fiber_carrier::run() {
    thread_->sanitizer_.adopt_thread();
    current_ = thread_.get();
    detail::rank_context* const outer = detail::current_context;
    position_ = 0;
    switch_to(*ranks_.front());
    detail::current_context = outer;
}

boost::context::fiber fiber_carrier::enter(fiber_rank& rank, boost::context::fiber&& from) {
    settle(std::move(from));
    body_(*rank.context_);
    rank.has_ended_ = true;
    --live_;
    fiber_rank& next = live_ == 0 ? *thread_ : wait_for_ready();
    next.word_ = nullptr;
    previous_ = nullptr;
    current_ = &next;
    thread_exceptions() = next.exceptions_;
    detail::current_context = next.context_;
    rank.sanitizer_.leave_for(next.sanitizer_, true);
    return std::move(next.fiber_);
}

/// First thing after every switch, on the new stack.
void fiber_carrier::settle(boost::context::fiber&& from) {
    current_->sanitizer_.arrive(previous_ != nullptr ? &previous_->sanitizer_ : nullptr);
    if (previous_ != nullptr) previous_->fiber_ = std::move(from);
}

void fiber_carrier::switch_to(fiber_rank& next) {
    fiber_rank& self = *current_;
    self.exceptions_ = std::exchange(thread_exceptions(), next.exceptions_);
    previous_ = &self;
    current_ = &next;
    detail::current_context = next.context_;
    self.sanitizer_.leave_for(next.sanitizer_, false);
    settle(std::move(next.fiber_).resume());
}

bool fiber_carrier::wait(fiber_rank& rank, const wait_request& request) {
    rank.word_ = &request.word;
    rank.at_least_ = request.at_least;
    rank.request_ = &request;
    rank.has_others_ = !request.others.empty();
    rank.deadline_ns_ = request.deadline_ns;
    const bool has_deadline = request.deadline_ns != no_deadline;
    with_deadline_ += has_deadline;
    fiber_rank& next = wait_for_ready();
    if (&next != &rank) switch_to(next);
    with_deadline_ -= has_deadline;
    rank.word_ = nullptr;
    return request.has_arrived();
}

/// The next rank after the current one, itself last, that can go on. Null when none can.
fiber_carrier::fiber_rank* fiber_carrier::next_ready() {
    const std::int64_t now_ns = with_deadline_ != 0 ? steady_now_ns() : 0;
    const std::size_t count = ranks_.size();
    std::size_t place = position_;
    for (std::size_t step = 0; step < count; ++step) {
        place = place + 1 == count ? 0 : place + 1;
        fiber_rank& rank = *ranks_[place];
        if (rank.has_ended_) continue;
        if (rank.has_arrived() || (now_ns != 0 && now_ns >= rank.deadline_ns_)) {
            position_ = place;
            return &rank;
        }
    }
    return nullptr;
}

/// Whoever waits, or has ended, serves the mail of all ranks of the carrier.
void fiber_carrier::serve_mail() {
    if (detail::current_context->ranks != 0 && setting_.mail->has_mail()) {
        setting_.mail->serve(*detail::current_context);
    }
}

fiber_carrier::fiber_rank& fiber_carrier::wait_for_ready() {
    serve_mail();
    fiber_rank* ready = next_ready();
    const auto look = [&] {
        return (ready = next_ready()) != nullptr || setting_.mail->has_mail();
    };
    if (ready != nullptr) return *ready;
    const bool attends = setting_.mail->has_notifier();
    if (attends) setting_.mail->attend();
    while (ready == nullptr) {
        if (stay_awake({setting_.how_long, turn_watch(*ranks_.front()->context_), no_deadline},
                       look) == idle_outcome::tired)
            sleep();
        serve_mail();
        if (ready == nullptr) ready = next_ready();
    }
    if (attends) setting_.mail->leave(*detail::current_context, setting_.bell_number);
    return *ready;
}

void fiber_carrier::sleep() {
    std::int64_t deadline_ns = no_deadline;
    for (const auto& rank : ranks_) {
        if (!rank->has_ended_) deadline_ns = std::min(deadline_ns, rank->deadline_ns_);
    }
    host_access access(*setting_.control, setting_.is_shared, deadline_ns);
    const std::uint32_t count = sleep_protocol::announce(access, *setting_.bell);
    for (const auto& rank : ranks_) {
        if (rank->has_ended_) continue;
        sleep_protocol::mark(access, *rank->word_, setting_.bell_number + 1);
        if (!rank->has_others_) continue;
        for (const awaited_word& other : rank->request_->others) {
            sleep_protocol::mark(access, *other.word, setting_.bell_number + 1);
        }
    }
    sleep_protocol::mark(access, setting_.mail->arrivals(), setting_.bell_number + 1);
    turn_watch(*ranks_.front()->context_).leave_for([&] {
        sleep_protocol::sleep_unless(access, *setting_.bell, count, [&] {
            return next_ready() != nullptr || setting_.mail->has_mail();
        });
    });
}

}  // namespace selion::machine::node
