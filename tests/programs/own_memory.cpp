// SPDX-License-Identifier: Apache-2.0
// Puts and gets of ranks' own memory, in virtual time: others see them when they happen, not when
// the rank that has run ahead makes them.
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>

#include <selion/selion.hpp>

namespace {

constexpr std::int64_t early = 100'000;    // nanoseconds
constexpr std::int64_t late = 10'000'000;  // longer than any message takes

int mistakes = 0;  // one rank runs at a time

void expect(const char* what, int seen, int wanted) {
    if (seen == wanted) return;
    std::printf("%s: %d, not %d\n", what, seen, wanted);
    ++mistakes;
}

/// Rank 0 does something at a late time, the last rank something before.
template <class Late, class Early>
void at_two_times(selion::world& world, Late at_late, Early at_early) {
    world.barrier();
    if (world.rank() == 0) {
        selion::charge(selion::nanoseconds(late));
        at_late();
    } else if (world.rank() + 1 == world.size()) {
        selion::charge(selion::nanoseconds(early));
        at_early();
    }
    world.barrier();
}

void run_rank(selion::world& world) {
    const auto cells = selion::allocate<int>(world, 32);
    const auto own = cells.on(0);
    const auto look = [&](const char* what, int place) {
        return [=] { expect(what, selion::get(own + place), 0); };
    };
    const std::array<int, 4> several{1, 2, 3, 4};
    at_two_times(world, [&] { selion::put(own, 5); }, look("a put", 0));
    at_two_times(world, [&] { selion::put(own + 4, std::span(several)); }, look("a block", 4));
    const auto start = [&] {
        selion::counter done;
        selion::put(own + 8, std::span(several), {.completion = &done});
        done.wait();
    };
    at_two_times(world, start, look("a started put", 8));

    const auto put_early = [&](int place) { return [=] { selion::put(own + place, 7); }; };
    at_two_times(world, [&] { expect("a get", selion::get(own + 12), 7); }, put_early(12));
    int value = 0;
    const auto start_get = [&] {
        selion::counter done;
        selion::get(std::span(&value, 1), own + 13, {.completion = &done});
        done.wait();
        expect("a started get", value, 7);
    };
    at_two_times(world, start_get, put_early(13));

    // Who looks again and again sees it.
    const auto poll = [&] {
        int looks = 0;
        while (selion::get(own + 14) == 0 && ++looks < 1000) {
            selion::charge(selion::nanoseconds(early));
        }
        expect("a look", selion::get(own + 14), 7);
    };
    at_two_times(world, poll, [&] {
        selion::charge(selion::nanoseconds(2 * late));
        selion::put(own + 14, 7);
    });
}

}  // namespace

int main(int argc, char** argv) {
    const int status = selion::run(argc, argv, run_rank);
    return status != 0 ? status : mistakes != 0;
}
