// SPDX-License-Identifier: Apache-2.0
// The steps come before the checker, whose macros take over words such as `new` and `assert`.
#include "collectives/lines_protocol.hpp"

#include <cstdio>
#include <initializer_list>
#include <relacy/relacy.hpp>

/// Checks src/collectives/lines_protocol.hpp: what is read from a line is what its writer has
/// written for this turn or message, nothing is written while it is read (a data race for the
/// checker), and nobody waits for ever. With any part taken away, a failure must be found.
namespace {

namespace protocol = selion::collectives::lines_protocol;

enum class fault {
    none,
    publication,  ///< a number is stored without releasing the line
    arrival,      ///< and read without acquiring it
    free_line,    ///< a line is written whether or not it is free
    telling,      ///< that a line has been read is stored without releasing the reads
    too_early,    ///< and told before it has been read
    silence,      ///< and not told where not all read all
    boldness,     ///< all are believed to have finished the turn itself, not the one before
};
fault without = fault::none;
bool lacks(fault what) { return without == what; }

const char* name_of(fault what) {
    switch (what) {
        case fault::none: return "everything in place";
        case fault::publication: return "nothing published";
        case fault::arrival: return "nothing acquired";
        case fault::free_line: return "no wait for a free line";
        case fault::telling: return "no release of what was read";
        case fault::too_early: return "told too early";
        case fault::silence: return "nothing told";
        case fault::boldness: return "too much believed";
    }
    return "";
}

using word = rl::atomic<std::uint64_t>;

std::uint64_t await(word& of, std::uint64_t at_least, bool acquires) {
    while (true) {
        const std::uint64_t value = of.load(acquires ? rl::mo_acquire : rl::mo_relaxed, $);
        if (value >= at_least) return value;
        rl::yield(1, $);
    }
}

struct line {
    word number{0};
    rl::var<std::uint64_t> payload;

    void write(std::uint64_t value, std::uint64_t as_number) {
        payload($) = value;
        number.store(as_number, lacks(fault::publication) ? rl::mo_relaxed : rl::mo_release, $);
    }
    std::uint64_t read(std::uint64_t at) {
        await(number, at, !lacks(fault::arrival));
        return payload($);
    }
};

/// Three members take turns of all kinds on a board of two lines each.
struct board : rl::test_suite<board, 3> {
    static constexpr std::uint32_t members = 3;
    static constexpr std::uint64_t lines = 2;
    /// Who shows a line in each turn, from the first; -1: all read all.
    static constexpr int roots[] = {0, 0, 0, -1, 1, 2, 0, 1, 0};

    struct progress {
        word finished{0};
    };
    line shown[members][lines];
    progress at[members];

    void before() {
        for (auto& own : shown) {
            for (line& one : own) one.payload($) = 0;
        }
    }

    struct memory {
        board& all;
        std::uint32_t self;
        std::uint32_t count() const { return members; }
        std::uint32_t own() const { return self; }
        std::uint64_t await_finished(std::uint32_t member, std::uint64_t turn) const {
            return await(all.at[member].finished, turn, true);
        }
        void tell_finished(std::uint64_t turn) const {
            if (lacks(fault::silence)) return;
            all.at[self].finished.store(turn,
                                        lacks(fault::telling) ? rl::mo_relaxed : rl::mo_release, $);
        }
    };

    void show(memory& words, protocol::board_turn& own, std::uint64_t& before) {
        if (!lacks(fault::free_line)) protocol::await_free_line(words, own, before);
        shown[words.self][own.turn % lines].write(own.turn * 10 + words.self, own.turn);
    }
    void look(const protocol::board_turn& own, std::uint32_t member) {
        RL_ASSERT(shown[member][own.turn % lines].read(own.turn) == own.turn * 10 + member);
    }

    void thread(unsigned self) {
        memory words{*this, self};
        protocol::board_turn own;
        std::uint64_t before[lines] = {};
        for (const int root : roots) {
            ++own.turn;
            const bool all_read_all = root < 0;
            if (all_read_all || root == static_cast<int>(self)) {
                show(words, own, before[own.turn % lines]);
            }
            if (lacks(fault::too_early)) protocol::end_turn(words, own, all_read_all);
            for (std::uint32_t member = 0; member < members; ++member) {
                if (member == self) continue;
                if (all_read_all || root == static_cast<int>(member)) look(own, member);
            }
            if (!lacks(fault::too_early)) protocol::end_turn(words, own, all_read_all);
            if (lacks(fault::boldness) && all_read_all) own.safe = own.turn;
        }
    }
};

/// One member sends more messages to another than a pair has lines.
struct pair : rl::test_suite<pair, 2> {
    static constexpr std::uint64_t lines = 2;
    static constexpr std::uint64_t messages = 6;
    line sent[lines];
    word taken{0};

    void before() {
        for (line& one : sent) one.payload($) = 0;
    }

    struct memory {
        pair& all;
        std::uint64_t await_taken(std::uint64_t number) const {
            return lacks(fault::free_line) ? number : await(all.taken, number, true);
        }
        void tell_taken(std::uint64_t number) const {
            if (lacks(fault::silence)) return;
            all.taken.store(number, lacks(fault::telling) ? rl::mo_relaxed : rl::mo_release, $);
        }
    };

    void thread(unsigned self) {
        memory words{*this};
        protocol::pair_counts counts;
        for (std::uint64_t i = 0; i < messages; ++i) {
            if (self == 0) {
                const std::uint64_t number = protocol::next_to_send(words, counts, lines);
                sent[number % lines].write(number * 10, number);
                continue;
            }
            const std::uint64_t number = ++counts.received;
            if (lacks(fault::too_early)) protocol::release(words, counts, 1);
            RL_ASSERT(sent[number % lines].read(number) == number * 10);
            if (!lacks(fault::too_early)) protocol::release(words, counts, 1);
        }
    }
};

template <class Scenario>
rl::test_result_e result_of(const char* name, rl::iteration_t schedules) {
    rl::ostringstream story;
    rl::test_params settings;
    settings.search_type = rl::random_scheduler_type;
    settings.iteration_count = schedules;
    settings.output_stream = settings.progress_stream = &story;
    rl::simulate<Scenario>(settings);
    std::printf("%s with %s: %s after %llu schedules\n", name, name_of(without),
                rl::test_result_str(settings.test_result),
                static_cast<unsigned long long>(settings.stop_iteration));
    const bool has_failed = settings.test_result != rl::test_result_success;
    if (has_failed && without == fault::none) std::printf("%s\n", story.str().c_str());
    return settings.test_result;
}

template <class Scenario>
bool finds(const char* name, std::initializer_list<fault> faults) {
    bool finds_all = true;
    for (const fault one : faults) {
        without = one;
        if (result_of<Scenario>(name, 100'000) == rl::test_result_success) finds_all = false;
    }
    without = fault::none;
    return finds_all;
}

}  // namespace

int main() {
    bool is_fine = result_of<board>("board", 100'000) == rl::test_result_success;
    is_fine &= result_of<pair>("pair", 100'000) == rl::test_result_success;
    is_fine &=
        finds<board>("board", {fault::publication, fault::arrival, fault::free_line, fault::telling,
                               fault::too_early, fault::silence, fault::boldness});
    is_fine &= finds<pair>("pair", {fault::publication, fault::arrival, fault::free_line,
                                    fault::telling, fault::too_early, fault::silence});
    return is_fine ? 0 : 1;
}
