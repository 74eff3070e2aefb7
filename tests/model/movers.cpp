// SPDX-License-Identifier: Apache-2.0
// The steps come before the checker, whose macros take over words such as `new` and `assert`.
#include "collectives/movers.hpp"

#include <cstdio>
#include <relacy/relacy.hpp>

/// Checks src/collectives/movers.hpp: one party at a time moves what belongs to all (a data race
/// for the checker), and no news is left when all have gone. With any part taken away, a failure
/// must be found.
namespace {

namespace movers = selion::collectives::movers;

enum class fault {
    none,
    publication,  ///< news are counted without releasing them
    arrival,      ///< the count is looked at without acquiring them
    handover,     ///< the count is taken back without releasing what has been moved
    blindness,    ///< the count is taken back whatever has come
};
fault without = fault::none;
bool lacks(fault what) { return without == what; }

const char* name_of(fault what) {
    switch (what) {
        case fault::none: return "everything in place";
        case fault::publication: return "nothing published";
        case fault::arrival: return "nothing acquired";
        case fault::handover: return "nothing handed over";
        case fault::blindness: return "no second look";
    }
    return "";
}

/// Three parties have news twice each.
struct news_for_all : rl::test_suite<news_for_all, 3> {
    static constexpr unsigned parties = 3;
    static constexpr unsigned turns = 2;

    struct count {
        rl::atomic<std::uint64_t>& word;
        std::uint64_t add(std::uint64_t one) const {
            const auto order = lacks(fault::publication) ? rl::mo_relaxed : rl::mo_release;
            return word.fetch_add(one, order, $);
        }
        std::uint64_t current() const {
            return word.load(lacks(fault::arrival) ? rl::mo_relaxed : rl::mo_acquire, $);
        }
        bool exchange_if(std::uint64_t seen, std::uint64_t value) const {
            if (lacks(fault::blindness)) {
                word.store(value, rl::mo_release, $);
                return true;
            }
            const auto order = lacks(fault::handover) ? rl::mo_acquire : rl::mo_acq_rel;
            return word.compare_exchange_strong(seen, value, order, $);
        }
    };

    rl::atomic<std::uint64_t> word{0};
    /// What a party gives, and how much of that is there: its list.
    rl::var<unsigned> news[parties][turns];
    rl::atomic<unsigned> given[parties];
    rl::var<unsigned> taken[parties];  ///< of whoever moves

    void before() {
        for (unsigned party = 0; party < parties; ++party) {
            given[party].store(0, rl::mo_relaxed, $);
            taken[party]($) = 0;
            for (unsigned turn = 0; turn < turns; ++turn) news[party][turn]($) = 0;
        }
    }

    void move() {
        for (unsigned party = 0; party < parties; ++party) {
            const unsigned there = given[party].load(rl::mo_acquire, $);
            for (unsigned turn = taken[party]($); turn < there; ++turn) {
                RL_ASSERT(news[party][turn]($) == turn + 1);
            }
            taken[party]($) = there;
        }
    }

    void thread(unsigned self) {
        count own{word};
        for (unsigned turn = 0; turn < turns; ++turn) {
            news[self][turn]($) = turn + 1;
            given[self].store(turn + 1, rl::mo_release, $);
            movers::move_or_leave(own, [this] { move(); });
        }
    }

    void after() {
        for (unsigned party = 0; party < parties; ++party) RL_ASSERT(taken[party]($) == turns);
    }
};

rl::test_result_e result() {
    rl::ostringstream story;
    rl::test_params settings;
    settings.search_type = rl::random_scheduler_type;
    settings.iteration_count = 100'000;
    settings.output_stream = settings.progress_stream = &story;
    rl::simulate<news_for_all>(settings);
    std::printf("with %s: %s after %llu schedules\n", name_of(without),
                rl::test_result_str(settings.test_result),
                static_cast<unsigned long long>(settings.stop_iteration));
    const bool has_failed = settings.test_result != rl::test_result_success;
    if (has_failed && without == fault::none) std::printf("%s\n", story.str().c_str());
    return settings.test_result;
}

}  // namespace

int main() {
    bool is_fine = result() == rl::test_result_success;
    for (const fault one :
         {fault::publication, fault::arrival, fault::handover, fault::blindness}) {
        without = one;
        is_fine &= result() != rl::test_result_success;
    }
    return is_fine ? 0 : 1;
}
