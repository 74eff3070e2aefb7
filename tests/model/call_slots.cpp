// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <relacy/relacy.hpp>
#include <string>

/// Checks the slots of src/offload/calls.md: each call is run once, in its order, with its own
/// arguments; its own results come back; and no slot is written while the other side reads it (a
/// data race for the checker). With any ordering or rule taken away, a failure must be found. How
/// host and worker sleep is checked in sleep_protocol.cpp, where a flag stands in the place of a
/// mark.
namespace {

enum class fault {
    none,
    call_release,   ///< the turn is stored without releasing the call
    call_acquire,   ///< and read without acquiring it
    reply_release,  ///< the reply's turn is stored without releasing the results
    reply_acquire,  ///< and read without acquiring them
    depth,          ///< more calls are under way than there are slots
    comparison,     ///< the worker takes any turn for its own
};
fault without = fault::none;

bool lacks(fault what) { return without == what; }
rl::memory_order unless(fault what, rl::memory_order order) {
    return lacks(what) ? rl::mo_relaxed : order;
}

constexpr std::uint64_t slots = 2;
constexpr std::uint64_t calls = 4;

struct request {
    rl::atomic<std::uint64_t> turn{0};
    rl::var<std::uint64_t> argument;
};
struct reply {
    rl::atomic<std::uint64_t> turn{0};
    rl::var<std::uint64_t> result;
};

std::uint64_t answer_to(std::uint64_t argument) { return 10 * argument + 1; }

struct pool : rl::test_suite<pool, 2> {
    request requests[slots];
    reply replies[slots];

    void before() {
        for (request& each : requests) each.argument($) = 0;
        for (reply& each : replies) each.result($) = 0;
    }

    void send(std::uint64_t turn) {
        request& slot = requests[turn % slots];
        slot.argument($) = turn;
        slot.turn.store(turn, unless(fault::call_release, rl::mo_release), $);
    }

    bool has_ended(std::uint64_t turn) {
        return replies[turn % slots].turn.load(unless(fault::reply_acquire, rl::mo_acquire), $) ==
               turn;
    }

    void take(std::uint64_t turn) { RL_ASSERT(replies[turn % slots].result($) == answer_to(turn)); }

    void host() {
        std::uint64_t sent = 0;
        std::uint64_t taken = 0;
        const std::uint64_t depth = lacks(fault::depth) ? slots + 1 : slots;
        while (taken < calls) {
            if (sent < calls && sent - taken < depth) {
                send(++sent);
            } else if (has_ended(taken + 1)) {
                take(++taken);
            } else {
                rl::yield(1, $);
            }
        }
    }

    static bool is_own(std::uint64_t seen, std::uint64_t turn) {
        return seen == turn || (seen != 0 && lacks(fault::comparison));
    }

    void worker() {
        for (std::uint64_t turn = 1; turn <= calls; ++turn) {
            request& slot = requests[turn % slots];
            while (!is_own(slot.turn.load(unless(fault::call_acquire, rl::mo_acquire), $), turn)) {
                rl::yield(1, $);
            }
            reply& back = replies[turn % slots];
            back.result($) = answer_to(slot.argument($));
            back.turn.store(turn, unless(fault::reply_release, rl::mo_release), $);
        }
    }

    void thread(unsigned self) {
        if (self == 0) {
            host();
        } else {
            worker();
        }
    }
};

const char* name_of(fault what) {
    switch (what) {
        case fault::none: return "everything in place";
        case fault::call_release: return "calls not released";
        case fault::call_acquire: return "calls not acquired";
        case fault::reply_release: return "results not released";
        case fault::reply_acquire: return "results not acquired";
        case fault::depth: return "more calls than slots";
        case fault::comparison: return "turns not compared";
    }
    return "";
}

bool is_sound(rl::scheduler_type_e kind, rl::iteration_t schedules) {
    rl::ostringstream story;
    rl::test_params settings;
    settings.search_type = kind;
    settings.context_bound = 3;
    settings.iteration_count = schedules;
    settings.output_stream = settings.progress_stream = &story;
    rl::simulate<pool>(settings);
    std::printf("%s: %s after %llu schedules (%s)\n", name_of(without),
                rl::test_result_str(settings.test_result),
                static_cast<unsigned long long>(settings.stop_iteration), rl::format(kind));
    const bool is_fine = settings.test_result == rl::test_result_success;
    if (!is_fine && without == fault::none) std::printf("%s\n", story.str().c_str());
    return is_fine;
}

bool is_needed(fault what) {
    without = what;
    const bool is_found = !is_sound(rl::sched_random, 100'000) || !is_sound(rl::sched_bound, 0);
    without = fault::none;
    if (!is_found) std::printf("    NOT FOUND\n");
    return is_found;
}

}  // namespace

int main() {
    using enum fault;
    const std::initializer_list<fault> parts{call_release,  call_acquire, reply_release,
                                             reply_acquire, depth,        comparison};
    const bool is_fine = is_sound(rl::sched_random, 300'000) && is_sound(rl::sched_bound, 0) &&
                         std::all_of(parts.begin(), parts.end(), is_needed);
    return is_fine ? 0 : 1;
}
