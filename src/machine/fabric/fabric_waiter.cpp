// SPDX-License-Identifier: Apache-2.0
#include "machine/fabric/fabric_waiter.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "machine/node/doorbell.hpp"
#include "machine/node/sleep_protocol.hpp"
#include "machine/node/yield.hpp"
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

/// The atomics of `sleep_protocol` on bells that have files.
class file_access : public node::host_access {
public:
    file_access(sleeping_place& place, std::int64_t deadline_ns)
        : host_access(place.control, false, deadline_ns),
          place_(place),
          deadline_ns_(deadline_ns) {}

    /// The bell's count needs no second look: who raises it after the first one writes to the
    /// file, which stays readable until it is read.
    void sleep_while_count_is(node::doorbell& bell, std::uint32_t count) const {
        if (bell_count(bell) != count) return;
        const file_bell& own = of(bell);
        const int network = place_.mail->wait_file();
        std::array<pollfd, 2> files{pollfd{own.file(), POLLIN, 0}, pollfd{network, POLLIN, 0}};
        const bool is_blind = network < 0 || place_.mail->is_stuck();
        std::int64_t most_ns = is_blind ? longest_blind_sleep_ns : longest_sleep_ns;
        if (deadline_ns_ != no_deadline) {
            most_ns = std::min(most_ns, deadline_ns_ - node::steady_now_ns());
        }
        if (most_ns <= 0) return;
        const timespec longest{0, most_ns};
        ppoll(files.data(), network < 0 ? 1 : 2, &longest, nullptr);
        if (files[0].revents == 0) return;
        eventfd_t rings = 0;
        eventfd_read(own.file(), &rings);
    }
    void wake_sleeper(node::doorbell& bell) const { eventfd_write(of(bell).file(), 1); }

private:
    const file_bell& of(const node::doorbell& bell) const {
        return *std::ranges::find_if(place_.bells,
                                     [&](const file_bell& one) { return &one.bell == &bell; });
    }

    sleeping_place& place_;
    std::int64_t deadline_ns_;
};

}  // namespace

void file_bell::open_file() {
    if (file_ < 0) file_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

file_bell::~file_bell() {
    if (file_ >= 0) close(file_);
}

/// What has come before this last look is either taken or told by it; what comes later is told by
/// the network's file, which the other thread sleeps on.
void attention::leave(port& mail) {
    if (count_.fetch_sub(1, std::memory_order_relaxed) == 1 && !mail.may_sleep()) {
        eventfd_write(bell_file_, 1);
    }
}

bool fabric_waiter::wait(const wait_request& request) {
    std::optional<attention>& attention = place_.attention;
    if (!attention || request.has_arrived()) return wait_serving(request);
    attention->attend();
    const bool has_arrived = wait_serving(request);
    attention->leave(*place_.mail);
    return has_arrived;
}

bool fabric_waiter::wait_serving(const wait_request& request) {
    detail::rank_context& self = *detail::current_context;
    port& mail = *place_.mail;
    const auto look = [&] {
        if (request.has_arrived()) return true;
        return !self.own.in_handler && mail.serve(self);
    };
    ends_early_ = false;
    node::patience how_long = place_.how_long;
    while (true) {
        how_long.yield_ns = yield_ns_;
        switch (node::stay_awake(how_long, request.deadline_ns, look)) {
            case node::idle_outcome::arrived: break;
            case node::idle_outcome::late: return request.has_arrived();
            case node::idle_outcome::tired:
                // What is there although nobody serves it, another thread of the rank is at.
                if (!mail.may_sleep()) {
                    node::yield_processor();
                } else {
                    sleep(request, [&] { return request.has_arrived() || !mail.may_sleep(); });
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
    file_access access(place_, request.deadline_ns);
    node::doorbell& bell = place_.bells[bell_].bell;
    const std::uint32_t self = bell_ + 1;
    const std::uint32_t count = sleep_protocol::announce(access, bell);
    sleep_protocol::mark(access, request.word, self);
    for (const awaited_word& other : request.others) {
        sleep_protocol::mark(access, *other.word, self);
    }
    const std::int64_t start_ns = node::steady_now_ns();
    sleep_protocol::sleep_unless(access, bell, count, arrived);
    // What the provider does by itself, as in a stream of long transfers, is no event here.
    const bool is_brief = node::steady_now_ns() - start_ns < brief_sleep_ns;
    const std::int64_t usual_ns = place_.how_long.yield_ns;
    yield_ns_ = is_brief ? std::min(yield_ns_ * 2, std::max(usual_ns, longest_yield_ns)) : usual_ns;
}

void wake_sleepers_of(sleeping_place& place, detail::shared_word& word) {
    file_access access(place, no_deadline);
    sleep_protocol::wake(access, word, [&](std::uint32_t who) {
        if (who != sleep_protocol::many) {
            sleep_protocol::ring(access, place.bells[who - 1].bell);
            return;
        }
        for (file_bell& one : place.bells) sleep_protocol::ring(access, one.bell);
    });
}

void wake_all(sleeping_place& place) {
    file_access access(place, no_deadline);
    for (file_bell& one : place.bells) sleep_protocol::ring_if_asleep(access, one.bell);
}

}  // namespace selion::machine::fabric
