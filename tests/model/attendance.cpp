// SPDX-License-Identifier: Apache-2.0
#include "machine/node/attendance.hpp"
#include "model/sleep_model.hpp"

/// Checks the hand-over of a room between a rank's thread and the notifier (messages.md): a message
/// that comes at any moment is served by one of them. If it were by none, the notifier would sleep
/// for ever. With any part taken away a failure must be found.
namespace {

using model::ordering;

/// What is taken away of the hand-over.
enum class gap { none, mark, fence, last_look, look_before_mark };
gap missing = gap::none;

struct room {
    model::word arrivals;  ///< its mark; its value counts messages, for want of a ring
    rl::atomic<std::uint32_t> attendants{0};
    rl::atomic<std::uint64_t> served{0};
    rl::atomic<std::uint32_t> is_served{0};
};

class room_access : public model::access<3> {
public:
    using access::access;
    bool change_attendants(room& of, int by) {
        return by > 0 ? of.attendants.fetch_add(1, rl::mo_relaxed, $) == 0
                      : of.attendants.fetch_sub(1, rl::mo_relaxed, $) == 1;
    }
    model::word& arrivals_of(room& of) { return of.arrivals; }
    bool replace_mark(model::word& of, std::uint32_t& seen, std::uint32_t wanted) {
        if (hands_over && missing == gap::mark) return true;
        return access::replace_mark(of, seen, wanted);
    }
    void heavy_fence() {
        if (!hands_over || missing != gap::fence) access::heavy_fence();
    }
    bool hands_over = false;
};

/// Thread 0 is a rank's, which waits for a moment and then computes; 1 the notifier; 2 sends.
struct hand_over : rl::test_suite<hand_over, 3> {
    static constexpr std::uint32_t notifier = 1;
    static constexpr std::uint64_t messages = 1;
    model::host<3> machine;
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
        return true;
    }
    /// Whoever has served the last one ends the scenario.
    void look_whether_all_is_done() {
        if (mail.served.load(rl::mo_relaxed, $) != messages) return;
        is_ending.store(1, rl::mo_relaxed, $);
        room_access memory(machine.sleepers);
        model::protocol::ring(memory, machine.bells[notifier]);
    }

    void run_rank() {
        room_access memory(machine.sleepers);
        memory.hands_over = true;
        selion::machine::attendance::attend(memory, mail);
        serve();
        if (missing == gap::look_before_mark) {
            while (serve()) {
            }
        }
        selion::machine::attendance::leave(memory, mail, notifier + 1);
        if (missing == gap::none || missing == gap::mark || missing == gap::fence) {
            while (serve()) {
            }
        }
        look_whether_all_is_done();
    }

    bool has_work() {
        return is_ending.load(rl::mo_relaxed, $) != 0 ||
               (mail.attendants.load(rl::mo_relaxed, $) == 0 && has_mail());
    }
    void run_notifier() {
        room_access memory(machine.sleepers);
        while (is_ending.load(rl::mo_relaxed, $) == 0) {
            if (mail.attendants.load(rl::mo_relaxed, $) == 0 && serve()) {
                look_whether_all_is_done();
                continue;
            }
            const std::uint32_t count = model::protocol::announce(memory, machine.bells[notifier]);
            if (mail.attendants.load(rl::mo_relaxed, $) == 0) {
                model::protocol::mark(memory, mail.arrivals, notifier + 1);
            }
            model::protocol::sleep_unless(memory, machine.bells[notifier], count,
                                          [&] { return has_work(); });
        }
    }

    void thread(unsigned self) {
        if (self == 0) {
            run_rank();
        } else if (self == notifier) {
            run_notifier();
        } else {
            machine.set(mail.arrivals, messages);
        }
    }
};

/// Jobs with a notifier always have fences.
constexpr model::variant variant{ordering::fences, model::fault::none};

bool stands() {
    missing = gap::none;
    bool is_fine = true;
    for (const model::search& how : {model::with_switches(3), model::at_random(500'000)}) {
        is_fine &= model::is_sound<hand_over>("hand-over", variant, how);
    }
    return is_fine;
}

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
        rl::simulate<hand_over>(settings);
        const bool is_found = settings.test_result != rl::test_result_success;
        std::printf("hand-over without %s: %s after %llu schedules\n", name,
                    rl::test_result_str(settings.test_result),
                    static_cast<unsigned long long>(settings.stop_iteration));
        if (is_found) return true;
    }
    std::printf("    NOT FOUND\n");
    return false;
}

}  // namespace

int main() {
    const bool outcomes[] = {stands(), needs(gap::mark, "its mark"), needs(gap::fence, "its fence"),
                             needs(gap::last_look, "a last look"),
                             needs(gap::look_before_mark, "a last look after the mark")};
    for (const bool is_fine : outcomes) {
        if (!is_fine) return 1;
    }
    return 0;
}
