// SPDX-License-Identifier: Apache-2.0
#pragma once

// The protocol comes before the checker, whose macros take over words such as `new` and `assert`.
#include "machine/node/sleep_protocol.hpp"

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <iterator>
#include <relacy/relacy.hpp>

#include "model/schedules.hpp"

/// The sleeping protocol's surroundings, made of the checker's atomics: words, doorbells, the
/// kernel's futex and fences; and ways to spoil them, each of which must be found.
namespace model {

namespace protocol = selion::machine::sleep_protocol;

/// How sleepers and signallers are ordered.
enum class ordering {
    membarrier,  ///< the sleeper's heavy fence reaches into every thread; signallers have none
    fences,      ///< both sides have a full fence of their own
};

/// On what a thread sleeps once it has found the bell's count as it was.
enum class bed {
    futex,  ///< the count, which the kernel compares once more
    pipe,   ///< a file beside the bell, which stays readable until the sleeper reads it
};

/// What is taken away.
enum class fault {
    none,
    heavy_fence,  ///< the sleeper's fence is missing
    light_fence,  ///< the signaller's is: a processor's fence, or, where the heavy fence is
                  ///< enough, the compiler's, and the mark is looked at before the store
    second_look,  ///< the sleeper does not look at the value again after marking
    mark,         ///< the sleeper does not mark the word
    sleepers,     ///< the sleeper does not count itself
    early_count,  ///< the count to sleep on is read only when going to sleep
    early_flag,   ///< `sleeping` is set only after the count is read
    late_flag,    ///< `sleeping` is set only after the second look
    compare,      ///< the kernel does not compare the count
    raise,        ///< the signaller wakes without raising the count
    wake_first,   ///< the signaller looks for a sleeper, and raises the count after that
    many,         ///< a second sleeper replaces the first one's mark by its own
    all_bells,    ///< `many` rings only one bell
    exchange,     ///< the signaller takes the mark by a load and a store
    last_look,    ///< meeting point: the last arrival looks for no sleepers
    publication,  ///< the value is stored without releasing the payload
    lasting,      ///< the mark of a word is looked at that its waiter may have done away with
    staying,      ///< what is written to a pipe that nobody sleeps on is lost
    early_join,   ///< a thread that has joined is noted only after its second look
};

struct variant {
    ordering kind = ordering::membarrier;
    fault without = fault::none;
    bed on = bed::futex;
};

/// What the next simulation runs. Fixed while one runs, so schedules can be replayed.
inline variant now;

inline bool lacks(fault what) { return now.without == what; }

struct word {
    rl::atomic<std::uint64_t> value{0};
    rl::atomic<std::uint32_t> sleeper{0};
};

/// A doorbell, and the kernel's queue of those that sleep on its count or on the pipe beside it.
struct bell {
    rl::atomic<std::uint32_t> count{0};
    rl::atomic<std::uint32_t> sleeping{0};
    rl::mutex queue;
    rl::condition_variable written;
    rl::var<int> bytes{0};     ///< in the pipe
    rl::var<int> sleepers{0};  ///< on the pipe
};

/// Threads that sleep or are about to: what signallers look at first.
using sleeper_count = rl::atomic<std::uint32_t>;

/// A full barrier in every thread, at some moment during the call: what membarrier promises. Not a
/// pair of sequentially consistent fences: those would also order two signallers, who have none.
template <int Threads>
void barrier_everywhere() {
    using thread = rl::thread_info<Threads>;
    rl::context& checker = rl::ctx();
    auto* self = static_cast<rl::aligned<thread>*>(checker.threadx_);
    rl::aligned<thread>* all = self - self->index_;
    checker.sched();
    self->atomic_thread_fence_seq_cst(checker.seq_cst_fence_order_);
    for (int other = 0; other < Threads; ++other) {
        if (all + other == self) continue;
        checker.sched();
        all[other].atomic_thread_fence_seq_cst(checker.seq_cst_fence_order_);
    }
    checker.sched();
    self->atomic_thread_fence_seq_cst(checker.seq_cst_fence_order_);
}

/// The `Access` of sleep_protocol.hpp: the orders of machine/node/doorbell.cpp.
template <int Threads>
class access {
public:
    explicit access(sleeper_count& sleepers) : sleepers_(sleepers) {}

    void change_sleepers(std::int32_t by) {
        if (lacks(fault::sleepers)) return;
        sleepers_.fetch_add(static_cast<std::uint32_t>(by), rl::mo_relaxed, $);
    }
    void set_sleeping(bell& own, std::uint32_t value) {
        if (value == 1 && (lacks(fault::early_flag) || lacks(fault::late_flag))) return;
        own.sleeping.store(value, rl::mo_seq_cst, $);
    }
    std::uint32_t sleeps_on(bell& own) { return own.sleeping.load(rl::mo_seq_cst, $); }
    bool is_sleeping(bell& own) { return sleeps_on(own) != 0; }
    std::uint32_t bell_count(bell& own) {
        if (lacks(fault::early_count)) return 0;
        const std::uint32_t count = own.count.load(rl::mo_seq_cst, $);
        if (lacks(fault::early_flag)) own.sleeping.store(1, rl::mo_seq_cst, $);
        return count;
    }
    void raise_count(bell& own) {
        if (!lacks(fault::raise) && !lacks(fault::wake_first)) {
            own.count.fetch_add(1, rl::mo_seq_cst, $);
        }
    }

    /// The kernel compares and queues under one lock. It promises no more: neither that it sees the
    /// latest count, nor that the call is a barrier. Nothing wakes a thread for no reason here:
    /// that could only hide a lost wake-up.
    void sleep_while_count_is(bell& own, std::uint32_t count) {
        if (lacks(fault::late_flag)) own.sleeping.store(1, rl::mo_seq_cst, $);
        if (lacks(fault::early_count)) count = own.count.load(rl::mo_seq_cst, $);
        if (now.on == bed::pipe) return sleep_on_pipe(own, count);
        own.queue.lock($);
        const bool sleeps = lacks(fault::compare) || own.count.load(rl::mo_relaxed, $) == count;
        own.queue.unlock($);
        if (sleeps) own.count.wait(rl::ctx(), false, false, $);
    }
    /// As fabric_waiter.cpp: poll, and then what has been written is read away.
    void sleep_on_pipe(bell& own, std::uint32_t count) {
        if (!lacks(fault::compare) && own.count.load(rl::mo_seq_cst, $) != count) return;
        own.queue.lock($);
        own.sleepers($) = 1;
        while (own.bytes($) == 0) own.written.wait(own.queue, $);
        own.sleepers($) = 0;
        own.bytes($) = 0;
        own.queue.unlock($);
    }
    void wake_sleeper(bell& own) {
        if (now.on == bed::pipe) {
            own.queue.lock($);
            if (!lacks(fault::staying) || own.sleepers($) != 0) own.bytes($) = 1;
            own.written.notify_all($);
            return own.queue.unlock($);
        }
        own.queue.lock($);
        own.count.wake(rl::ctx(), 1, $);
        own.queue.unlock($);
    }

    std::uint32_t mark_of(word& of) { return of.sleeper.load(rl::mo_relaxed, $); }
    bool replace_mark(word& of, std::uint32_t& seen, std::uint32_t wanted) {
        if (lacks(fault::mark)) return true;
        if (lacks(fault::many) && wanted == protocol::many) wanted = own_mark;
        return of.sleeper.compare_exchange_strong(seen, wanted, rl::mo_relaxed, $);
    }
    std::uint32_t take_mark(word& of) {
        if (!lacks(fault::exchange)) return of.sleeper.exchange(0, rl::mo_relaxed, $);
        const std::uint32_t who = of.sleeper.load(rl::mo_relaxed, $);
        of.sleeper.store(0, rl::mo_relaxed, $);
        return who;
    }

    void heavy_fence() {
        if (lacks(fault::heavy_fence)) return;
        if (now.kind == ordering::membarrier) {
            barrier_everywhere<Threads>();
        } else {
            rl::atomic_thread_fence(rl::mo_seq_cst, $);
        }
    }
    void light_fence() {
        if (now.kind == ordering::membarrier || lacks(fault::light_fence)) return;
        rl::atomic_thread_fence(rl::mo_seq_cst, $);
    }

    std::uint32_t own_mark = 0;  ///< for `fault::many`

private:
    sleeper_count& sleepers_;
};

/// Words, bells and one step of each side, for a job of `Threads` threads, all of which may sleep.
template <int Threads>
struct host {
    bell bells[Threads];
    sleeper_count sleepers{0};
    rl::atomic<std::uint32_t> joined{0};  ///< of the waiter's process

    /// As note_joined of control_block.hpp. The bells of others are not looked at.
    void note_joined() {
        if (joined.load(rl::mo_relaxed, $) == 0) joined.store(1, rl::mo_relaxed, $);
    }

    /// As node_clock::wake.
    void wake(word& changed) {
        access<Threads> memory(sleepers);
        protocol::wake(memory, changed, [&](std::uint32_t who) {
            if (who != protocol::many) return ring(memory, bells[who - 1]);
            for (bell& one : bells) {
                ring(memory, one);
                if (lacks(fault::all_bells)) return;
            }
        });
    }

    void ring(access<Threads>& memory, bell& one) {
        protocol::ring(memory, one);
        if (lacks(fault::wake_first)) one.count.fetch_add(1, rl::mo_seq_cst, $);
    }

    /// As word_store of detail/word_access.hpp.
    void set(word& changed, std::uint64_t value) {
        const rl::memory_order order = lacks(fault::publication) ? rl::mo_relaxed : rl::mo_release;
        if (lacks(fault::light_fence) && now.kind == ordering::membarrier) {
            const bool is_noticed = somebody_sleeps();  // what a compiler may make of it
            changed.value.store(value, order, $);
            if (is_noticed) wake(changed);
            return;
        }
        changed.value.store(value, order, $);
        look_for_sleepers(changed);
    }
    /// As word_add_quietly. @return the value before.
    std::uint64_t add_quietly(word& changed, std::uint64_t amount) {
        const rl::memory_order order = lacks(fault::publication) ? rl::mo_relaxed : rl::mo_acq_rel;
        return changed.value.fetch_add(amount, order, $);
    }
    /// As word_changed.
    void look_for_sleepers(word& changed) {
        access<Threads>(sleepers).light_fence();
        if (somebody_sleeps()) wake(changed);
    }
    /// As node_clock::count. @param frame what the word is part of. @param has_joined whether the
    /// waiter is a thread that joins.
    void count_for(int waiter, word& changed, rl::var<int>& frame, bool has_joined = false) {
        RL_ASSERT(frame($) == 1);
        add_quietly(changed, 1);
        access<Threads> memory(sleepers);
        memory.light_fence();
        if (!somebody_sleeps()) return;
        if (lacks(fault::lasting)) {
            RL_ASSERT(frame($) == 1);
            return wake(changed);
        }
        if (has_joined && joined.load(rl::mo_relaxed, $) == 0) return;
        protocol::ring_if_asleep(memory, bells[waiter]);
        if (lacks(fault::wake_first)) bells[waiter].count.fetch_add(1, rl::mo_seq_cst, $);
    }
    bool somebody_sleeps() { return sleepers.load(rl::mo_relaxed, $) != 0; }

    /// thread_waiter::wait once patience has ended, for one or more words: @return when
    /// `arrived()`.
    template <class Arrived, class... Words>
    void sleep_until(int self, Arrived arrived, Words&... words) {
        access<Threads> memory(sleepers);
        memory.own_mark = static_cast<std::uint32_t>(self + 1);
        bell& own = bells[self];
        while (!arrived()) {
            const std::uint32_t count = protocol::announce(memory, own);
            (protocol::mark(memory, words, memory.own_mark), ...);
            protocol::sleep_unless(memory, own, count,
                                   [&] { return !lacks(fault::second_look) && arrived(); });
        }
    }
};

inline std::uint64_t value_of(word& of) { return of.value.load(rl::mo_acquire, $); }

inline const char* name_of(fault what) {
    constexpr const char* names[] = {"everything in place",
                                     "no heavy fence",
                                     "no light fence",
                                     "no second look",
                                     "no mark",
                                     "no count of sleepers",
                                     "count read too late",
                                     "flag set after the count is read",
                                     "flag set too late",
                                     "no compare",
                                     "count not raised",
                                     "wakes before it raises",
                                     "no `many`",
                                     "rings one bell of many",
                                     "mark taken in two steps",
                                     "last arrival looks for nobody",
                                     "nothing published",
                                     "looks at a mark that may be gone",
                                     "bytes lost that nobody waits for",
                                     "a joined thread noted too late"};
    static_assert(std::size(names) == static_cast<std::size_t>(fault::early_join) + 1);
    return names[static_cast<int>(what)];
}

/// How the schedules are chosen: all of them, those with few forced switches, or at random.
struct search {
    rl::scheduler_type_e kind;
    unsigned switches = 0;
    rl::iteration_t schedules = 0;
};
inline constexpr search all_schedules{rl::sched_full};
constexpr search with_switches(unsigned most) { return {rl::sched_bound, most}; }
constexpr search at_random(rl::iteration_t schedules) { return {rl::sched_random, 0, schedules}; }

/// Simulates a scenario and prints what came of it. @return whether no schedule failed.
template <class Scenario>
bool is_sound(const char* name, variant what, const search& how) {
    now = what;
    rl::ostringstream story;
    rl::test_params settings;
    settings.search_type = how.kind;
    settings.context_bound = how.switches;
    settings.iteration_count = how.schedules;
    settings.output_stream = &story;
    settings.progress_stream = &story;
    rl::simulate<Scenario>(settings);
    std::printf("%s%s, %s, %s: %s after %llu schedules (%s)\n", name,
                what.on == bed::pipe ? " on a pipe" : "",
                what.kind == ordering::membarrier ? "membarrier" : "fences", name_of(what.without),
                rl::test_result_str(settings.test_result),
                static_cast<unsigned long long>(settings.stop_iteration), rl::format(how.kind));
    const bool is_fine = settings.test_result == rl::test_result_success;
    if (!is_fine && what.without == fault::none) std::printf("%s\n", story.str().c_str());
    return is_fine;
}

/// As it is, a scenario must stand every search. @return whether it does.
template <class Scenario>
bool stands(const char* name, std::initializer_list<search> searches, bed on = bed::futex) {
    bool is_fine = true;
    for (const ordering kind : {ordering::membarrier, ordering::fences}) {
        for (search how : searches) {
            how.schedules = tried_of(how.schedules);
            is_fine &= is_sound<Scenario>(name, {kind, fault::none, on}, how);
        }
    }
    return is_fine;
}

/// With something missing, some search must find a failure. @return whether one does.
template <class Scenario>
bool fails(const char* name, variant spoiled) {
    const bool is_found = !is_sound<Scenario>(name, spoiled, at_random(20'000)) ||
                          !is_sound<Scenario>(name, spoiled, with_switches(2)) ||
                          !is_sound<Scenario>(name, spoiled, with_switches(3)) ||
                          !is_sound<Scenario>(name, spoiled, at_random(300'000));
    if (!is_found) std::printf("    NOT FOUND\n");
    return is_found;
}

/// @return whether the scenario fails without each of these.
template <class Scenario>
bool needs(const char* name, std::initializer_list<fault> faults, bed on = bed::futex) {
    bool is_fine = true;
    for (const fault what : faults) {
        is_fine &= fails<Scenario>(name, {ordering::membarrier, what, on});
        is_fine &= fails<Scenario>(name, {ordering::fences, what, on});
    }
    return is_fine;
}

}  // namespace model
