// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>

#include "pair/contests.hpp"

namespace bench {
namespace {

constexpr std::uint64_t words = 64;

selion::global_ptr<std::uint64_t> words_of_rank_1(const selion::world& world) {
    return selion::allocate<std::uint64_t>(world, words, 128).on(1);
}

contest put_contest(const selion::world& world) {
    const auto target = words_of_rank_1(world);
    std::uint64_t* const plain = target.local();
    // Copies in registers: the compiler must take what a loop captures for changed memory.
    const auto selion_put = [target](std::uint64_t count) {
        const auto to = target;
        for (std::uint64_t i = 0; i < count; ++i) {
            selion::put(to + static_cast<std::ptrdiff_t>(i % words), i);
            clobber();
        }
    };
    const auto store = [plain](std::uint64_t count) {
        std::uint64_t* const to = plain;
        for (std::uint64_t i = 0; i < count; ++i) {
            to[i % words] = i;
            clobber();
        }
    };
    return {"put 8 B",
            {{"selion", on_first(world, selion_put)}, {"store", on_first(world, store)}}};
}

contest get_contest(const selion::world& world) {
    const auto source = words_of_rank_1(world);
    std::uint64_t* const plain = source.local();
    const auto selion_get = [source](std::uint64_t count) {
        const auto from = source;
        for (std::uint64_t i = 0; i < count; ++i) {
            consume(selion::get(from + static_cast<std::ptrdiff_t>(i % words)));
        }
    };
    const auto load = [plain](std::uint64_t count) {
        const std::uint64_t* const from = plain;
        for (std::uint64_t i = 0; i < count; ++i) consume(from[i % words]);
    };
    return {"get 8 B", {{"selion", on_first(world, selion_get)}, {"load", on_first(world, load)}}};
}

/// A meter of time around nothing, and two looks at a clock.
contest meter_contest(const selion::world& world) {
    const auto selion_run = [](std::uint64_t count) {
        selion::meter clock("nothing");
        for (std::uint64_t i = 0; i < count; ++i) {
            clock.start();
            clock.stop();
        }
        consume(static_cast<std::uint64_t>(clock.value()));
    };
    const auto looks = [](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            for (int look = 0; look < 2; ++look) {
                consume(std::chrono::steady_clock::now().time_since_epoch().count());
            }
        }
    };
    return {"start and stop of a meter",
            {{"selion", on_first(world, selion_run)}, {"two looks", on_first(world, looks)}}};
}

/// What the processor does by itself.
auto locked_add(std::uint64_t* word) {
    return [word](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            consume(__atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL));
        }
    };
}

contest fetch_add_contest(const selion::world& world) {
    const auto target = words_of_rank_1(world);
    const auto selion_add = [target](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) consume(selion::fetch_add(target, 1));
    };
    return {"fetch_add",
            {{"selion", on_first(world, selion_add)},
             {"lock xadd", on_first(world, locked_add(target.local()))}}};
}

/// The same with the place looked up once.
contest atomic_ref_contest(const selion::world& world) {
    const auto target = words_of_rank_1(world);
    const auto selion_add = [target](std::uint64_t count) {
        const selion::atomic_ref word(target);
        for (std::uint64_t i = 0; i < count; ++i) consume(word.fetch_add(1));
    };
    return {"atomic_ref fetch_add",
            {{"selion", on_first(world, selion_add)},
             {"lock xadd", on_first(world, locked_add(target.local()))}}};
}

contest compare_swap_contest(const selion::world& world) {
    const auto target = words_of_rank_1(world);
    std::uint64_t* const plain = target.local();
    const auto selion_swap = [target](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            consume(selion::compare_swap(target, i, i + 1));
        }
        selion::put(target, 0);
    };
    const auto locked_swap = [plain](std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            std::uint64_t expected = i;
            __atomic_compare_exchange_n(plain, &expected, i + 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE);
            consume(expected);
        }
        *plain = 0;
    };
    return {
        "compare_swap",
        {{"selion", on_first(world, selion_swap)}, {"lock cmpxchg", on_first(world, locked_swap)}}};
}

}  // namespace

std::vector<contest> word_contests(const selion::world& world) {
    std::vector<contest> all;
    all.push_back(put_contest(world));
    all.push_back(get_contest(world));
    all.push_back(fetch_add_contest(world));
    all.push_back(atomic_ref_contest(world));
    all.push_back(compare_swap_contest(world));
    all.push_back(meter_contest(world));
    return all;
}

}  // namespace bench
