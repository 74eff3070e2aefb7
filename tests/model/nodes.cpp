// SPDX-License-Identifier: Apache-2.0
// The steps come before the checker, whose macros take over words such as `new` and `assert`.
#include "collectives/nodes_protocol.hpp"

#include <cstdio>
#include <initializer_list>
#include <relacy/relacy.hpp>

/// Checks src/collectives/nodes_protocol.hpp: what a member takes is what was shown for it, a
/// leader reads the values that were given for this collective, nothing is written while it is read
/// (a data race for the checker), and nobody waits for ever. With any part taken away, a failure
/// must be found.
namespace {

namespace protocol = selion::collectives::nodes_protocol;

enum class fault {
    none,
    publication,  ///< a release number is stored without releasing the shelf
    arrival,      ///< and read without acquiring it
    giving,       ///< an arrival does not release the value
    getting,      ///< and is not acquired by the leader
    full_shelf,   ///< a shelf is used whether or not all have taken what lay there
    telling,      ///< that something was taken is told without releasing the read
    one_shelf,    ///< all takes are counted together, whatever the shelf
};
fault without = fault::none;
bool lacks(fault what) { return without == what; }

const char* name_of(fault what) {
    switch (what) {
        case fault::none: return "everything in place";
        case fault::publication: return "nothing published";
        case fault::arrival: return "nothing acquired";
        case fault::giving: return "no release of what was given";
        case fault::getting: return "no acquire of what was given";
        case fault::full_shelf: return "no wait for an empty shelf";
        case fault::telling: return "no release of what was taken";
        case fault::one_shelf: return "one count for both shelves";
    }
    return "";
}

using word = rl::atomic<std::uint64_t>;

void await(word& of, std::uint64_t at_least, bool acquires = true) {
    while (of.load(acquires ? rl::mo_acquire : rl::mo_relaxed, $) < at_least) rl::yield(1, $);
}

/// Three members of a node, of which member 0 leads it.
struct node : rl::test_suite<node, 3> {
    static constexpr std::uint32_t members = 3;
    /// Who broadcasts, in turn; -1: an all-reduce.
    static constexpr int calls[] = {1, 1, 1, -1, 0, 2, 0, -1, 1};

    word arrivals{0};
    word releases{0};
    word taken[members][protocol::shelves];
    rl::var<std::uint64_t> shelf[members][protocol::shelves];
    rl::var<std::uint64_t> value[members];

    void before() {
        for (std::uint32_t member = 0; member < members; ++member) {
            value[member]($) = 0;
            for (std::uint64_t i = 0; i < protocol::shelves; ++i) {
                taken[member][i].store(0, rl::mo_relaxed, $);
                shelf[member][i]($) = 0;
            }
        }
    }

    struct memory {
        node& all;
        std::uint32_t self;

        void add_arrival(std::uint64_t) const {
            all.arrivals.fetch_add(1, lacks(fault::giving) ? rl::mo_relaxed : rl::mo_acq_rel, $);
        }
        void await_arrivals(std::uint64_t number) const {
            await(all.arrivals, number, !lacks(fault::getting));
        }
        void release(std::uint64_t number) const {
            all.releases.store(number, lacks(fault::publication) ? rl::mo_relaxed : rl::mo_release,
                               $);
        }
        void await_release(std::uint64_t number) const {
            await(all.releases, number, !lacks(fault::arrival));
        }
        void add_taken(std::uint32_t from, std::uint64_t place) const {
            all.taken[from][lacks(fault::one_shelf) ? 0 : place].fetch_add(
                1, lacks(fault::telling) ? rl::mo_relaxed : rl::mo_acq_rel, $);
        }
        void await_taken(std::uint64_t place, std::uint64_t number) const {
            if (lacks(fault::full_shelf)) return;
            await(all.taken[self][lacks(fault::one_shelf) ? 0 : place], number);
        }
    };

    static std::uint64_t value_of(std::uint64_t call, std::uint32_t member) {
        return call * 100 + member + 1;
    }

    void take(memory& words, protocol::progress& own, std::uint32_t from, std::uint64_t expected) {
        protocol::take(words, own, from,
                       [&](std::uint64_t place) { RL_ASSERT(shelf[from][place]($) == expected); });
    }
    void show(memory& words, protocol::progress& own, std::uint64_t what) {
        protocol::show(words, own,
                       [&](std::uint64_t place) { shelf[words.self][place]($) = what; });
    }

    void all_reduce(memory& words, protocol::progress& own, std::uint64_t call) {
        std::uint64_t sum = 0;
        for (std::uint32_t member = 0; member < members; ++member) sum += value_of(call, member);
        if (words.self != 0) {
            value[words.self]($) = value_of(call, words.self);
            protocol::arrive(words, own);
            return take(words, own, 0, sum);
        }
        protocol::await_arrivals(words, own);
        std::uint64_t found = value_of(call, 0);
        for (std::uint32_t member = 1; member < members; ++member) found += value[member]($);
        RL_ASSERT(found == sum);
        show(words, own, found);
    }

    void thread(unsigned self) {
        memory words{*this, self};
        protocol::progress own;
        own.others = members - 1;
        std::uint64_t number = 0;
        for (const int root : calls) {
            ++number;
            if (root < 0) {
                all_reduce(words, own, number);
            } else if (root == static_cast<int>(self)) {
                show(words, own, number);
            } else {
                take(words, own, static_cast<std::uint32_t>(root), number);
            }
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
    bool is_fine = result_of<node>("node", 100'000) == rl::test_result_success;
    is_fine &=
        finds<node>("node", {fault::publication, fault::arrival, fault::giving, fault::getting,
                             fault::full_shelf, fault::telling, fault::one_shelf});
    return is_fine ? 0 : 1;
}
