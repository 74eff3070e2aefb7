// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/fabric_waiter.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "machine/node/doorbell.hpp"
#include "machine/node/sleep_protocol.hpp"
#include "machine/node/turns.hpp"
#include "selion/detail/word_access.hpp"

namespace selion::machine::fabric {
namespace {

/// Looks at a network that no file tells of, or that has refused to send.
constexpr std::int64_t longest_blind_sleep_ns = 1'000'000;
/// A file that should have told is not trusted for longer.
constexpr std::int64_t longest_sleep_ns = 250'000'000;
/// Who has slept less would rather have stayed awake: waking up costs as much. Each time that this
/// happens the thread yields twice as long before it sleeps again, up to so long.
constexpr std::int64_t brief_sleep_ns = 500'000;
constexpr std::int64_t longest_yield_ns = 4'000'000;

/// The atomics of `sleep_protocol` on bells that have pipes.
class pipe_access : public node::host_access {
public:
    pipe_access(sleeping_place& place, std::int64_t deadline_ns)
        : host_access(place.mapping.control(), true, deadline_ns),
          place_(place),
          deadline_ns_(deadline_ns) {}

    /// The bell's count needs no second look: who raises it after the first one writes to the
    /// pipe, which stays readable until it is read.
    void sleep_while_count_is(node::doorbell& bell, std::uint32_t count) const {
        if (bell_count(bell) != count) return;
        const std::uint32_t own = number_of(bell);
        const int network = place_.has_frames ? place_.frames->wait_file() : -1;
        std::array<pollfd, 2> files{pollfd{place_.pipes.file(own), POLLIN, 0},
                                    pollfd{network, POLLIN, 0}};
        const bool is_blind = place_.has_frames && (network < 0 || place_.frames->is_stuck());
        std::int64_t most_ns = is_blind ? longest_blind_sleep_ns : longest_sleep_ns;
        if (deadline_ns_ != no_deadline) {
            most_ns = std::min(most_ns, deadline_ns_ - node::steady_now_ns());
        }
        if (most_ns <= 0) return;
        const timespec longest{0, most_ns};
        ppoll(files.data(), network < 0 ? 1 : 2, &longest, nullptr);
        if (files[0].revents != 0) place_.pipes.hush(own);
    }
    void wake_sleeper(node::doorbell& bell) const { place_.pipes.ring(number_of(bell)); }

private:
    std::uint32_t number_of(const node::doorbell& bell) const {
        return static_cast<std::uint32_t>(&bell - &place_.mapping.bell(0));
    }

    sleeping_place& place_;
    std::int64_t deadline_ns_;
};

}  // namespace

attention::attention() : file_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

attention::~attention() {
    if (file_ >= 0) close(file_);
}

void attention::ring() const { eventfd_write(file_, 1); }

void attention::hush() const {
    eventfd_t rings = 0;
    eventfd_read(file_, &rings);
}

/// What has come before this last look is either taken or told by it; what comes later is told by
/// the network's file, which the other thread sleeps on.
void attention::leave(port& frames) {
    if (count_.fetch_sub(1, std::memory_order_relaxed) == 1 && !frames.may_sleep()) {
        ring();
    }
}

bool fabric_waiter::wait(const wait_request& request) {
    std::optional<attention>& attention = place_.attention;
    if (!attention || request.has_arrived()) return wait_serving(request);
    attention->attend();
    const bool has_arrived = wait_serving(request);
    attention->leave(*place_.frames);
    return has_arrived;
}

bool fabric_waiter::wait_serving(const wait_request& request) {
    detail::rank_context& self = *detail::current_context;
    const auto look = [&] {
        if (request.has_arrived()) return true;
        return !self.own.in_handler && place_.serve(self);
    };
    // A look at the network is long enough by itself.
    const auto rest = [&] {
        if (!place_.has_frames) detail::pause_processor();
    };
    ends_early_ = false;
    node::patience how_long = place_.how_long;
    while (true) {
        how_long.yield_ns = yield_ns_;
        switch (
            node::stay_awake({how_long, node::turn_watch(self), request.deadline_ns}, look, rest)) {
            case node::idle_outcome::arrived: break;
            case node::idle_outcome::late: return request.has_arrived();
            case node::idle_outcome::tired:
                // What is there although nobody serves it, another thread of the rank is at.
                if (!place_.may_sleep()) {
                    node::turn_watch(self).yield();
                } else {
                    sleep(request, [&] { return request.has_arrived() || !place_.may_sleep(); });
                }
        }
        if (request.has_arrived()) return true;
        if (ends_early_) return false;
        const bool has_deadline = request.deadline_ns != no_deadline;
        if (has_deadline && node::steady_now_ns() >= request.deadline_ns) return false;
    }
}

/// Once: whoever has served while it slept looks at the words again.
template <class Look>
void fabric_waiter::sleep(const wait_request& request, Look arrived) {
    if (arrived()) return;
    pipe_access access(place_, request.deadline_ns);
    node::doorbell& bell = place_.mapping.bell(bell_);
    const std::uint32_t self = bell_ + 1;
    const std::uint32_t on = request.others.empty()
                                 ? node::name_of_word(place_.mapping.control(), request.word)
                                 : sleep_protocol::any_word;
    const std::uint32_t count = sleep_protocol::announce(access, bell, on);
    sleep_protocol::mark(access, request.word, self);
    for (const awaited_word& other : request.others) {
        sleep_protocol::mark(access, *other.word, self);
    }
    if (place_.room != nullptr) sleep_protocol::mark(access, place_.room->arrivals(), self);
    const std::int64_t start_ns = node::steady_now_ns();
    node::turn_watch turns(*detail::current_context);
    const bool has_to = turns.should_sleep();
    turns.leave_for([&] { sleep_protocol::sleep_unless(access, bell, count, arrived); });
    if (has_to) return;  // it has not been too impatient
    // What the provider does by itself, as in a stream of long transfers, is no event here.
    const bool is_brief = node::steady_now_ns() - start_ns < brief_sleep_ns;
    const std::int64_t usual_ns = place_.how_long.yield_ns;
    yield_ns_ = is_brief ? std::min(yield_ns_ * 2, std::max(usual_ns, longest_yield_ns)) : usual_ns;
}

void wake_sleepers_of(sleeping_place& place, detail::shared_word& word) {
    pipe_access access(place, no_deadline);
    sleep_protocol::wake(access, word, [&](std::uint32_t who) {
        if (who != sleep_protocol::many) {
            sleep_protocol::ring(access, place.mapping.bell(who - 1));
            return;
        }
        for (std::uint32_t i = 0; i < place.mapping.control().bells; ++i) {
            sleep_protocol::ring(access, place.mapping.bell(i));
        }
    });
}

void wake_if_asleep(sleeping_place& place, std::uint32_t bell, const detail::shared_word& word) {
    pipe_access access(place, no_deadline);
    sleep_protocol::ring_if_asleep(access, place.mapping.bell(bell),
                                   node::name_of_word(place.mapping.control(), word));
}

void wake_all(sleeping_place& place) {
    pipe_access access(place, no_deadline);
    for (const std::uint32_t one : place.own) {
        sleep_protocol::ring_if_asleep(access, place.mapping.bell(one));
    }
}

}  // namespace selion::machine::fabric
