// SPDX-License-Identifier: Apache-2.0
#include "model/sleep_model.hpp"

/// Checks src/machine/node/waiting.md under the schedules and stale reads that the checker makes:
/// no wake-up is lost (a deadlock for the checker), and what was written before a signal is visible
/// after it (else a data race). With each part of the protocol taken away, it must find a failure.
namespace {

using model::bed;
using model::fault;
using model::ordering;

struct one_sleeper : rl::test_suite<one_sleeper, 2> {
    model::host<2> machine;
    model::word signal;
    rl::var<int> payload{0};

    void thread(unsigned self) {
        if (self == 0) {
            machine.sleep_until(0, [&] { return model::value_of(signal) >= 1; }, signal);
            RL_ASSERT(payload($) == 7);
        } else {
            payload($) = 7;
            machine.set(signal, 1);
        }
    }
};

/// The word is the waiter's, who does away with it at once: nobody may look at its mark then.
struct counted : rl::test_suite<counted, 2> {
    model::host<2> machine;
    model::word counter;
    rl::var<int> frame{1};
    rl::var<int> payload{0};

    void thread(unsigned self) {
        if (self == 0) {
            machine.sleep_until(0, [&] { return model::value_of(counter) >= 1; }, counter);
            frame($) = 0;
            RL_ASSERT(payload($) == 7);
        } else {
            payload($) = 7;
            machine.count_for(0, counter, frame);
        }
    }
};

/// The same where the waiter has joined a rank: bells of threads that have not are not looked at.
struct counted_joined : rl::test_suite<counted_joined, 2> {
    model::host<2> machine;
    model::word counter;
    rl::var<int> frame{1};
    rl::var<int> payload{0};

    void thread(unsigned self) {
        if (self != 0) {
            payload($) = 7;
            return machine.count_for(0, counter, frame, true);
        }
        const bool is_late = model::lacks(fault::early_join);
        if (!is_late) machine.note_joined();
        int looks = 0;
        const auto arrived = [&] {
            const bool has_arrived = model::value_of(counter) >= 1;
            if (is_late && ++looks == 2) machine.note_joined();
            return has_arrived;
        };
        machine.sleep_until(0, arrived, counter);
        frame($) = 0;
        RL_ASSERT(payload($) == 7);
    }
};

/// The second sleeper finds the mark of the first.
struct two_sleepers : rl::test_suite<two_sleepers, 3> {
    model::host<3> machine;
    model::word signal;
    rl::var<int> payload{0};

    void thread(unsigned self) {
        if (self < 2) {
            machine.sleep_until(
                static_cast<int>(self), [&] { return model::value_of(signal) >= 1; }, signal);
            RL_ASSERT(payload($) == 7);
        } else {
            payload($) = 7;
            machine.set(signal, 1);
        }
    }
};

/// One wants the first signal, the other both: the first wake-up must not swallow the second.
struct two_wishes : rl::test_suite<two_wishes, 4> {
    model::host<4> machine;
    model::word signal;
    rl::var<int> payloads[2];

    void before() { payloads[0]($) = payloads[1]($) = 0; }
    void thread(unsigned self) {
        if (self < 2) {
            const std::uint64_t wanted = self + 1;
            machine.sleep_until(
                static_cast<int>(self), [&] { return model::value_of(signal) >= wanted; }, signal);
            if (wanted == 2) RL_ASSERT(payloads[0]($) + payloads[1]($) == 14);
        } else {
            payloads[self - 2]($) = 7;
            machine.add_quietly(signal, 1);
            machine.look_for_sleepers(signal);
        }
    }
};

/// A carrier whose two fibers wait for a word each.
struct carrier : rl::test_suite<carrier, 3> {
    model::host<3> machine;
    model::word signals[2];
    rl::var<int> payloads[2];

    void before() { payloads[0]($) = payloads[1]($) = 0; }
    void thread(unsigned self) {
        if (self != 0) {
            payloads[self - 1]($) = 7;
            machine.set(signals[self - 1], 1);
            return;
        }
        bool is_done[2] = {false, false};
        const auto arrived = [&](int i) { return !is_done[i] && model::value_of(signals[i]) >= 1; };
        while (!is_done[0] || !is_done[1]) {
            machine.sleep_until(
                0, [&] { return arrived(0) || arrived(1); }, signals[0], signals[1]);
            for (int i = 0; i < 2; ++i) {
                if (!arrived(i)) continue;
                RL_ASSERT(payloads[i]($) == 7);
                is_done[i] = true;
            }
        }
    }
};

/// One sleeper, one signaller, three signals: marks and counts of one sleep are stale in the next.
struct again : rl::test_suite<again, 2> {
    model::host<2> machine;
    model::word signal;
    rl::var<int> payloads[3];

    void before() {
        for (auto& payload : payloads) payload($) = 0;
    }
    void thread(unsigned self) {
        for (int round = 0; round < 3; ++round) {
            if (self == 0) {
                machine.sleep_until(
                    0, [&] { return model::value_of(signal) > std::uint64_t(round); }, signal);
                RL_ASSERT(payloads[round]($) == 7);
            } else {
                payloads[round]($) = 7;
                machine.set(signal, static_cast<std::uint64_t>(round) + 1);
            }
        }
    }
};

/// A meeting point: all add to one counter, only the last arrival looks for sleepers. Two rounds.
template <int Threads>
struct meeting : rl::test_suite<meeting<Threads>, Threads> {
    model::host<Threads> machine;
    model::word arrivals;
    rl::var<int> payloads[Threads];

    void before() {
        for (auto& payload : payloads) payload($) = 0;
    }
    void thread(unsigned self) {
        for (std::uint64_t round = 1; round <= 2; ++round) {
            payloads[self]($) = static_cast<int>(round);
            meet(static_cast<int>(self), (2 * round - 1) * Threads);
            for (auto& payload : payloads) RL_ASSERT(payload($) == static_cast<int>(round));
            meet(static_cast<int>(self), 2 * round * Threads);
        }
    }
    /// As team_state::meet.
    void meet(int self, std::uint64_t target) {
        if (machine.add_quietly(arrivals, 1) + 1 == target) {
            if (!model::lacks(fault::last_look)) machine.look_for_sleepers(arrivals);
        } else if (model::value_of(arrivals) < target) {
            machine.sleep_until(
                self, [&] { return model::value_of(arrivals) >= target; }, arrivals);
        }
    }
};

/// What every sleep needs.
template <class Scenario>
bool needs_all(const char* name) {
    return model::needs<Scenario>(
        name,
        {fault::heavy_fence, fault::second_look, fault::mark, fault::sleepers, fault::early_count,
         fault::late_flag, fault::compare, fault::raise, fault::wake_first, fault::publication});
}

}  // namespace

int main() {
    using model::all_schedules, model::at_random, model::needs, model::stands, model::with_switches;
    const bool outcomes[] = {
        stands<one_sleeper>("one sleeper", {all_schedules, at_random(500'000)}),
        needs_all<one_sleeper>("one sleeper"),
        needs<one_sleeper>("one sleeper", {fault::light_fence}),

        stands<counted>("counted", {all_schedules, at_random(500'000)}),
        needs<counted>("counted",
                       {fault::heavy_fence, fault::second_look, fault::sleepers, fault::early_count,
                        fault::late_flag, fault::compare, fault::raise, fault::wake_first,
                        fault::publication, fault::lasting}),
        stands<counted_joined>("counted, joined", {with_switches(4), at_random(300'000)}),
        needs<counted_joined>("counted, joined",
                              {fault::heavy_fence, fault::second_look, fault::early_join}),
        // With membarrier an atomic addition keeps the compiler from exchanging the two.
        model::fails<counted>("counted", {ordering::fences, fault::light_fence}),

        stands<again>("again", {with_switches(3), at_random(500'000)}),
        needs_all<again>("again"),
        needs<again>("again", {fault::light_fence}),
        // The sleeper may take its own earlier mark for standing while it is being taken away. Then
        // the ring that follows must wake it.
        model::fails<again>("again", {ordering::fences, fault::early_flag}),

        stands<two_sleepers>("two sleepers", {with_switches(3), at_random(500'000)}),
        needs_all<two_sleepers>("two sleepers"),
        needs<two_sleepers>("two sleepers", {fault::light_fence, fault::many, fault::all_bells}),

        stands<two_wishes>("two wishes", {with_switches(1), at_random(500'000)}),
        needs<two_wishes>("two wishes", {fault::mark, fault::many, fault::all_bells}),

        // Ranks of one host whose sleepers look at a network as well.
        stands<one_sleeper>("one sleeper", {with_switches(4), at_random(300'000)}, bed::pipe),
        needs<one_sleeper>("one sleeper",
                           {fault::heavy_fence, fault::light_fence, fault::second_look, fault::mark,
                            fault::sleepers, fault::publication, fault::staying},
                           bed::pipe),
        stands<again>("again", {with_switches(3), at_random(300'000)}, bed::pipe),
        needs<again>("again", {fault::heavy_fence, fault::second_look, fault::mark, fault::staying},
                     bed::pipe),
        stands<two_sleepers>("two sleepers", {at_random(300'000)}, bed::pipe),
        needs<two_sleepers>("two sleepers", {fault::many, fault::all_bells, fault::staying},
                            bed::pipe),

        stands<carrier>("carrier", {with_switches(3), at_random(500'000)}),
        needs<carrier>("carrier", {fault::heavy_fence, fault::light_fence, fault::second_look,
                                   fault::mark, fault::sleepers, fault::publication}),

        stands<meeting<2>>("meeting of 2", {with_switches(2), at_random(500'000)}),
        needs_all<meeting<2>>("meeting of 2"),
        needs<meeting<2>>("meeting of 2", {fault::last_look}),

        stands<meeting<3>>("meeting of 3", {at_random(300'000)}),
        needs<meeting<3>>("meeting of 3", {fault::last_look, fault::exchange, fault::many,
                                           fault::all_bells, fault::publication}),
    };
    for (const bool is_fine : outcomes) {
        if (!is_fine) return 1;
    }
    return 0;
}
