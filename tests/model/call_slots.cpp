// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <relacy/relacy.hpp>
#include <string>

/// Checks the slots of src/offload/calls.md: each call is run once, in its order, with its own
/// arguments; its own results come back; and no slot is written while the other side reads it (a
/// data race for the checker). Some calls are taken back: they are run once as well, by the worker
/// or by the host. With any ordering or rule taken away, a failure must be found. How
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
    host_fence,     ///< the host may look at the reply before its notice is there
    worker_fence,   ///< the worker may look at the notice before its reply is there
    second_look,    ///< the host looks at the reply before it writes the notice, and not after
    notice,         ///< the worker does not look at the notice
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
    rl::atomic<std::uint32_t> notice{0};
    rl::var<std::uint64_t> argument;
};
struct reply {
    rl::atomic<std::uint64_t> turn{0};
    rl::var<bool> is_skipped;
    rl::var<std::uint64_t> result;
};

std::uint64_t answer_to(std::uint64_t argument) { return 10 * argument + 1; }

void full_fence() { rl::atomic_thread_fence(rl::mo_seq_cst, $); }

template <bool TakesBack>
struct pool : rl::test_suite<pool<TakesBack>, 2> {
    request requests[slots];
    reply replies[slots];
    bool is_taken_back[calls + 1];  // of the host

    void before() {
        for (request& each : requests) each.argument($) = 0;
        for (reply& each : replies) {
            each.is_skipped($) = false;
            each.result($) = 0;
        }
        std::fill_n(is_taken_back, calls + 1, false);
    }

    void send(std::uint64_t turn) {
        request& slot = requests[turn % slots];
        slot.argument($) = turn;
        if (TakesBack) slot.notice.store(0, rl::mo_relaxed, $);
        slot.turn.store(turn, unless(fault::call_release, rl::mo_release), $);
    }

    bool has_ended(std::uint64_t turn) {
        return replies[turn % slots].turn.load(unless(fault::reply_acquire, rl::mo_acquire), $) ==
               turn;
    }

    /// Once the host has a call again it would run it at once; here that is counted only.
    void take_back(std::uint64_t turn) {
        if (has_ended(turn - 1)) return;
        requests[turn % slots].notice.store(1, rl::mo_relaxed, $);
        if (!lacks(fault::host_fence)) full_fence();
        is_taken_back[turn] = lacks(fault::second_look) || !has_ended(turn - 1);
    }

    void take(std::uint64_t turn) {
        reply& back = replies[turn % slots];
        if (TakesBack) {
            if (is_taken_back[turn]) RL_ASSERT(back.is_skipped($));
            if (back.is_skipped($)) return;
        }
        RL_ASSERT(back.result($) == answer_to(turn));
    }

    void host() {
        std::uint64_t sent = 0;
        std::uint64_t taken = 0;
        const std::uint64_t depth = lacks(fault::depth) ? slots + 1 : slots;
        while (taken < calls) {
            if (sent < calls && sent - taken < depth) {
                send(++sent);
                if (TakesBack && sent - taken == slots) take_back(sent);
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
            const bool skips =
                TakesBack && !lacks(fault::notice) && slot.notice.load(rl::mo_relaxed, $) != 0;
            if (TakesBack) back.is_skipped($) = skips;
            if (!skips) back.result($) = answer_to(slot.argument($));
            back.turn.store(turn, unless(fault::reply_release, rl::mo_release), $);
            if (TakesBack && !lacks(fault::worker_fence)) full_fence();
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
        case fault::host_fence: return "no fence of the host";
        case fault::worker_fence: return "no fence of the worker";
        case fault::second_look: return "no second look";
        case fault::notice: return "notices not read";
    }
    return "";
}

template <bool TakesBack>
bool is_sound(rl::scheduler_type_e kind, rl::iteration_t schedules) {
    rl::ostringstream story;
    rl::test_params settings;
    settings.search_type = kind;
    settings.context_bound = 3;
    settings.iteration_count = schedules;
    settings.output_stream = settings.progress_stream = &story;
    rl::simulate<pool<TakesBack>>(settings);
    std::printf("%s%s: %s after %llu schedules (%s)\n", TakesBack ? "calls taken back, " : "",
                name_of(without), rl::test_result_str(settings.test_result),
                static_cast<unsigned long long>(settings.stop_iteration), rl::format(kind));
    const bool is_fine = settings.test_result == rl::test_result_success;
    if (!is_fine && without == fault::none) std::printf("%s\n", story.str().c_str());
    return is_fine;
}

template <bool TakesBack>
bool is_needed(fault what) {
    without = what;
    const bool is_found =
        !is_sound<TakesBack>(rl::sched_random, 100'000) || !is_sound<TakesBack>(rl::sched_bound, 0);
    without = fault::none;
    if (!is_found) std::printf("    NOT FOUND\n");
    return is_found;
}

}  // namespace

int main() {
    using enum fault;
    const std::initializer_list<fault> parts{call_release,  call_acquire, reply_release,
                                             reply_acquire, depth,        comparison};
    const std::initializer_list<fault> of_notices{host_fence, worker_fence, second_look, notice};
    const bool is_fine =
        is_sound<false>(rl::sched_random, 300'000) && is_sound<false>(rl::sched_bound, 0) &&
        is_sound<true>(rl::sched_random, 300'000) && is_sound<true>(rl::sched_bound, 0) &&
        std::all_of(parts.begin(), parts.end(), is_needed<false>) &&
        std::all_of(of_notices.begin(), of_notices.end(), is_needed<true>);
    return is_fine ? 0 : 1;
}
