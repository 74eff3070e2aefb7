// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include "pair/bare.hpp"
#include "pair/bare_ring.hpp"
#include "pair/contests.hpp"

namespace bench {
namespace {

/// Rank 0 works and is measured; rank 1 waits until that is over, and serves messages meanwhile.
template <class Body>
loop served(const selion::world& world, Body body) {
    const auto over = selion::allocate<bare::signal_line>(world, 1);
    const bool works = world.rank() == 0;
    return [=, turn = std::uint64_t{0}](std::uint64_t count) mutable -> std::int64_t {
        ++turn;
        if (!works) {
            selion::wait_until(bare::signal_of(over), turn);
            return 0;
        }
        const std::int64_t start = now_ns();
        body(count);
        const std::int64_t taken = now_ns() - start;
        selion::notify(bare::signal_of(over.on(1)), selion::signal_set(turn));
        return taken;
    };
}

/// Both ranks pass a flag back and forth: two signals.
template <bare::between_looks Between>
loop two_bare_signals(const selion::world& world) {
    const auto lines = selion::allocate<bare::flag_line>(world, 4);
    auto* const own = lines.local();
    auto* const other = lines.on(1 - world.rank()).local();
    const bool starts = world.rank() == 0;
    return on_all([=, turn = std::uint64_t{0}](std::uint64_t count) mutable {
        for (std::uint64_t i = 0; i < count; ++i) {
            ++turn;
            if (starts) bare::raise(other->flag, turn);
            bare::await<Between>(own->flag, turn);
            if (!starts) bare::raise(other->flag, turn);
        }
    });
}

/// A message there and one back, as anybody would write them by hand.
template <bare::between_looks Between>
loop ring_by_hand(const selion::world& world) {
    const auto rings = selion::allocate<bare::ring>(world, 1);
    const bool starts = world.rank() == 0;
    const bare::ring_end both(rings.local(), rings.on(1 - world.rank()).local());
    return on_all([=, end = both](std::uint64_t count) mutable {
        const bare::ring_function throw_back = [](bare::ring_end& at, const auto& arguments) {
            at.send([](bare::ring_end&, const auto& back) { consume(back[0]); }, arguments[0]);
        };
        for (std::uint64_t i = 0; i < count; ++i) {
            if (starts) end.send(throw_back, i);
            end.template receive<Between>();
        }
    });
}

std::vector<contestant> bare_round_trips(const selion::world& world) {
    using enum bare::between_looks;
    return {{"two bare signals", two_bare_signals<nothing>(world)},
            {"two bare signals, pause", two_bare_signals<pause>(world)},
            {"ring by hand", ring_by_hand<nothing>(world)},
            {"ring by hand, pause", ring_by_hand<pause>(world)}};
}

/// Comes back as a message of the same kind, and counts at home.
struct ball {
    selion::counter* caught;
};

selion::arrival come_home(const ball& came, selion::message_info) {
    // A handler of the rank's own, so the counter is in reach.
    selion::detail::count_together(*selion::detail::current_context,
                                   selion::counter_access::word(*came.caught));
    return {};
}

selion::arrival throw_back(const ball& came, selion::message_info about) {
    selion::send(about.origin, come_home, came);
    return {};
}

contest message_contest(const selion::world& world) {
    auto* const caught = new selion::counter;  // lives as long as the program
    contest all{
        "active message, round trip",
        {{"selion", served(world,
                           [=](std::uint64_t count) {
                               for (std::uint64_t i = 0; i < count; ++i) {
                                   selion::send(1, throw_back, ball{caught});
                                   caught->wait(1);
                               }
                           })},
         {"selion, completion counter",
          served(world,
                 [=](std::uint64_t count) {
                     for (std::uint64_t i = 0; i < count; ++i) {
                         selion::send(
                             1, [](const int&, selion::message_info) { return selion::arrival{}; },
                             1, {}, {.completion = caught});
                         caught->wait(1);
                     }
                 })}},
        1,
        true};
    for (contestant& rival : bare_round_trips(world)) all.contestants.push_back(std::move(rival));
    return all;
}

contest call_contest(const selion::world& world) {
    contest all{
        "rpc, round trip",
        {{"selion",
          served(world,
                 [](std::uint64_t count) {
                     for (std::uint64_t i = 0; i < count; ++i) {
                         consume(selion::rpc(1, [](std::uint64_t x) { return x + 1; }, i).get());
                     }
                 })}},
        1,
        true};
    for (contestant& rival : bare_round_trips(world)) all.contestants.push_back(std::move(rival));
    return all;
}

contest flood_contest(const selion::world& world) {
    return {"short messages from one rank, each",
            {{"selion", served(world,
                               [](std::uint64_t count) {
                                   const auto count_one = [](std::uint64_t x) { consume(x); };
                                   for (std::uint64_t i = 1; i < count; ++i) {
                                       selion::rpc_oneway(1, count_one, i);
                                   }
                                   selion::rpc(1, count_one, count).wait();
                               })}},
            1,
            true};
}

contest queue_contest(const selion::world& world) {
    constexpr std::uint64_t puts = 64;
    const auto there = selion::allocate<std::uint64_t>(world, puts).on(1);
    std::uint64_t* const plain = there.local();
    return {"64 puts of 8 B and quiet",
            {{"selion", on_first(world,
                                 [=](std::uint64_t count) {
                                     const auto row = there;  // on the stack, as `plain` below is
                                     for (std::uint64_t i = 0; i < count; ++i) {
                                         for (std::uint64_t k = 0; k < puts; ++k) {
                                             selion::put(row + static_cast<std::ptrdiff_t>(k), i);
                                         }
                                         selion::quiet();
                                     }
                                 })},
             {"64 stores and a fence", on_first(world,
                                                [=](std::uint64_t count) {
                                                    for (std::uint64_t i = 0; i < count; ++i) {
                                                        for (std::uint64_t k = 0; k < puts; ++k) {
                                                            plain[k] = i;
                                                        }
                                                        std::atomic_thread_fence(
                                                            std::memory_order_seq_cst);
                                                        clobber();
                                                    }
                                                })}},
            1,
            false};
}

}  // namespace

std::vector<contest> message_contests(const selion::world& world) {
    std::vector<contest> all;
    all.push_back(queue_contest(world));
    all.push_back(message_contest(world));
    all.push_back(call_contest(world));
    all.push_back(flood_contest(world));
    return all;
}

}  // namespace bench
