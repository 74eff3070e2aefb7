// SPDX-License-Identifier: Apache-2.0
// What compilers differ in, of the templates in the public headers: a user's compiler need not be
// the library's. Prints what must come out, once.
#include <cstdint>
#include <cstdio>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <selion/selion.hpp>

namespace {

struct nothing_in_it {};
int twice(int value) { return 2 * value; }

/// Functions and arguments that have no bytes, alone and beside others.
int calls(std::uint32_t target) {
    auto alone = selion::rpc(target, [] { return 1; });
    auto with_empty = selion::rpc(target, [](nothing_in_it) { return 10; }, nothing_in_it{});
    auto empty_last =
        selion::rpc(target, [](int value, nothing_in_it) { return value; }, 100, nothing_in_it{});
    auto by_pointer = selion::rpc(target, twice, 500);
    const std::vector<int> thousands = {4000, 6000};
    auto of_span =
        selion::rpc(target, [](std::span<const int> all) { return all[0] + all[1]; }, thousands);
    return alone.get() + with_empty.get() + empty_last.get() + by_pointer.get() + of_span.get();
}

/// Parts that are there, are not yet, or have no value.
int gathered(std::uint32_t target) {
    auto first = selion::rpc(target, twice, 1);
    first.wait();
    auto all = selion::when_all(std::move(first), selion::rpc(target, twice, 10),
                                selion::rpc(target, [] {}), selion::make_ready(300));
    auto sum =
        std::move(all).then([](int two, int twenty, int rest) { return two + twenty + rest; });
    return sum.get();
}

/// Ranks count, also where the compiler runs the program.
constexpr std::uint32_t third_from(selion::rank_id rank) {
    rank += selion::rank_id(1);
    ++rank;
    rank += 1;
    return rank;
}
static_assert(third_from(4) == 7);

}  // namespace

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        const std::uint32_t next = (world.rank() + 1) % world.size();
        const int called = calls(next);
        const int both = gathered(next);
        selion::spread_array<int, 1> numbers(world, {10}, selion::cyclic(world.size()));
        numbers(world.rank()) = 1;
        world.barrier();
        const int counted =
            world.all_reduce(static_cast<int>(numbers(next)), [](int a, int b) { return a + b; });
        if (world.rank() == 0) {
            std::printf("calls %d parts %d elements %d\n", called, both, counted);
        }
    });
}
