// SPDX-License-Identifier: Apache-2.0
#include "machine/node/attendance.hpp"
#include "model/sleep_model.hpp"

/// Checks the hand-over of a room between a rank's thread and the notifier (messages.md): a message
/// that comes at any moment is served by one of them. If it were by none, the notifier would sleep
/// for ever. With any part taken away a failure must be found.
namespace {

using model::ordering;

/// What is taken away of the hand-over.
enum class gap {
    none,
    mark,
    fence,
    last_look,
    look_before_mark,
    last_ring,  ///< for what comes while a thread serves that does not attend
    respect,    ///< who comes or goes takes any mark off, and not only its own
};
gap missing = gap::none;

struct room {
    model::word arrivals;  ///< its mark; its value counts messages, for want of a ring
    rl::atomic<std::uint32_t> attendants{0};
    rl::atomic<std::uint64_t> served{0};
    rl::atomic<std::uint32_t> is_served{0};
};

template <int Threads>
class room_access : public model::access<Threads> {
public:
    using above = model::access<Threads>;
    using above::above;
    void add_attendant(room& of) {
        of.attendants.fetch_add(1, rl::mo_relaxed, $);
        if (missing == gap::respect) above::take_mark(of.arrivals);
    }
    bool remove_attendant(room& of) {
        if (of.attendants.fetch_sub(1, rl::mo_relaxed, $) != 1) return false;
        if (missing == gap::respect) above::take_mark(of.arrivals);
        return true;
    }
    model::word& arrivals_of(room& of) { return of.arrivals; }
    bool replace_mark(model::word& of, std::uint32_t& seen, std::uint32_t wanted) {
        if (hands_over && missing == gap::mark) return true;
        return above::replace_mark(of, seen, wanted);
    }
    void heavy_fence() {
        if (!hands_over || missing != gap::fence) above::heavy_fence();
    }
    bool hands_over = false;
};

/// A room, its notifier, and who attends it, over a scenario `Own` of so many threads: 0 is a
/// rank's, which waits for a moment and then computes; 1 the notifier; 2 sends.
template <class Own, int Threads>
struct with_room : rl::test_suite<Own, Threads> {
    using access = room_access<Threads>;
    static constexpr std::uint32_t notifier = 1;
    static constexpr std::uint64_t messages = 1;
    model::host<Threads> machine;
    room mail;
    rl::atomic<std::uint32_t> is_ending{0};

    bool has_mail() { return model::value_of(mail.arrivals) > mail.served.load(rl::mo_relaxed, $); }
    /// As mail_room::serve.
    bool serve() {
        if (!has_mail()) return false;
        if (mail.is_served.exchange(1, rl::mo_acquire, $) != 0) {
            rl::yield(1, $);
            return false;
        }
        if (has_mail()) mail.served.fetch_add(1, rl::mo_relaxed, $);
        mail.is_served.store(0, rl::mo_release, $);
        look_whether_all_is_done();
        return true;
    }
    /// Whoever has served the last one ends the scenario.
    void look_whether_all_is_done() {
        if (mail.served.load(rl::mo_relaxed, $) != messages) return;
        is_ending.store(1, rl::mo_relaxed, $);
        access memory(machine.sleepers);
        for (const std::uint32_t sleeper : {0u, notifier}) {
            model::protocol::ring(memory, machine.bells[sleeper]);
        }
    }

    /// Waits for a moment. @param self doorbell number
    void visit(std::uint32_t self) {
        access memory(machine.sleepers);
        memory.hands_over = true;
        selion::machine::attendance::attend(memory, mail, notifier + 1);
        serve();
        if (missing == gap::look_before_mark) {
            while (serve()) {
            }
        }
        leave(memory, self);
    }
    void leave(access& memory, std::uint32_t self) {
        if (!selion::machine::attendance::leave(memory, mail, notifier + 1, self + 1)) return;
        if (missing != gap::last_look && missing != gap::look_before_mark) {
            while (serve()) {
            }
        }
        const bool rings = missing != gap::last_ring && missing != gap::last_look &&
                           missing != gap::look_before_mark;
        if (rings && has_mail()) model::protocol::ring(memory, machine.bells[notifier]);
    }
    /// Looks once, does not attend, and is at something else before it lets others serve.
    void poll() {
        if (mail.is_served.exchange(1, rl::mo_acquire, $) != 0) return;
        if (has_mail()) mail.served.fetch_add(1, rl::mo_relaxed, $);
        rl::yield(1, $);
        mail.is_served.store(0, rl::mo_release, $);
        look_whether_all_is_done();
    }

    bool has_work() {
        return is_ending.load(rl::mo_relaxed, $) != 0 ||
               (mail.attendants.load(rl::mo_relaxed, $) == 0 && has_mail());
    }
    void run_notifier() {
        access memory(machine.sleepers);
        while (is_ending.load(rl::mo_relaxed, $) == 0) {
            if (mail.attendants.load(rl::mo_relaxed, $) == 0 && serve()) continue;
            const std::uint32_t count = model::protocol::announce(memory, machine.bells[notifier]);
            if (mail.attendants.load(rl::mo_relaxed, $) == 0) {
                model::protocol::mark(memory, mail.arrivals, notifier + 1);
            }
            model::protocol::sleep_unless(memory, machine.bells[notifier], count,
                                          [&] { return has_work(); });
        }
    }
};

/// One that waits for a moment.
struct hand_over : with_room<hand_over, 3> {
    void thread(unsigned self) {
        if (self == 0) {
            visit(self);
        } else if (self == notifier) {
            run_notifier();
        } else {
            machine.set(mail.arrivals, messages);
        }
    }
};

/// One that waits until its message is handled, and sleeps meanwhile; 3 waits for a moment.
struct company : with_room<company, 4> {
    void wait_for_message() {
        access memory(machine.sleepers);
        memory.hands_over = true;
        selion::machine::attendance::attend(memory, mail, notifier + 1);
        while (is_ending.load(rl::mo_relaxed, $) == 0) {
            if (serve()) continue;
            const std::uint32_t count = model::protocol::announce(memory, machine.bells[0]);
            model::protocol::mark(memory, mail.arrivals, 1);
            model::protocol::sleep_unless(memory, machine.bells[0], count, [&] {
                return is_ending.load(rl::mo_relaxed, $) != 0 || has_mail();
            });
        }
        leave(memory, 0);
    }

    void thread(unsigned self) {
        if (self == 0) {
            wait_for_message();
        } else if (self == notifier) {
            run_notifier();
        } else if (self == 2) {
            machine.set(mail.arrivals, messages);
        } else {
            visit(self);
        }
    }
};

/// One that waits for a moment, beside one that polls.
struct polled : with_room<polled, 4> {
    void thread(unsigned self) {
        if (self == 0) {
            visit(self);
        } else if (self == notifier) {
            run_notifier();
        } else if (self == 2) {
            machine.set(mail.arrivals, messages);
        } else {
            poll();
        }
    }
};

/// Jobs with a notifier always have fences.
constexpr model::variant variant{ordering::fences, model::fault::none};

bool stands() {
    missing = gap::none;
    bool is_fine = true;
    for (const model::search& how :
         {model::with_switches(3), model::at_random(model::tried_of(500'000))}) {
        is_fine &= model::is_sound<hand_over>("hand-over", variant, how);
    }
    for (const model::search& how :
         {model::with_switches(1), model::at_random(model::tried_of(500'000))}) {
        is_fine &= model::is_sound<company>("company", variant, how);
        is_fine &= model::is_sound<polled>("polled", variant, how);
    }
    return is_fine;
}

template <class Scenario>
bool needs(gap what, const char* name) {
    missing = what;
    model::now = variant;
    for (const model::search& how : {model::at_random(100'000), model::with_switches(3)}) {
        rl::ostringstream story;
        rl::test_params settings;
        settings.search_type = how.kind;
        settings.context_bound = how.switches;
        settings.iteration_count = how.schedules;
        settings.output_stream = settings.progress_stream = &story;
        rl::simulate<Scenario>(settings);
        const bool is_found = settings.test_result != rl::test_result_success;
        std::printf("without %s: %s after %llu schedules\n", name,
                    rl::test_result_str(settings.test_result),
                    static_cast<unsigned long long>(settings.stop_iteration));
        if (is_found) return true;
    }
    std::printf("    NOT FOUND\n");
    return false;
}

}  // namespace

int main() {
    const bool outcomes[] = {
        stands(),
        needs<hand_over>(gap::mark, "its mark"),
        needs<hand_over>(gap::fence, "its fence"),
        needs<hand_over>(gap::last_look, "a last look"),
        needs<hand_over>(gap::look_before_mark, "a last look after the mark"),
        needs<polled>(gap::last_ring, "a ring at the end"),
        needs<company>(gap::respect, "respect for the marks of others"),
    };
    for (const bool is_fine : outcomes) {
        if (!is_fine) return 1;
    }
    return 0;
}
