// SPDX-License-Identifier: Apache-2.0
// A release of coherent memory during which a handler has its rank give up a block that it has
// written. Rank 2 has a copy of what is released, and computes; the handler's block comes to
// rank 4, which answers before its home does. In virtual time.
#include <cstdint>
#include <cstdio>

#include <selion/selion.hpp>

namespace {

constexpr std::size_t run = 64;
constexpr std::int64_t computing_ns = 1'000'000;
using numbers = selion::cached_array<std::uint64_t, 1>;

const numbers* of_rank_0 = nullptr;

selion::arrival write_and_need_room(const int& value, selion::message_info) {
    (*of_rank_0)(3 * run) = static_cast<std::uint64_t>(value);
    of_rank_0->prefetch({{run + 16}, {1}});
    of_rank_0->prefetch({{run + 32}, {1}});
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        const selion::cached how{.block_bytes = 64,
                                 .capacity_bytes = 128,
                                 .protocol = selion::cache_protocol::always,
                                 .consistency = selion::memory_consistency::release,
                                 .writes = selion::write_protocol::update};
        const numbers array(world, {run * world.size()}, selion::runs{run}, how);
        const auto flag = selion::allocate<selion::signal>(world, 1);
        const unsigned me = world.rank();
        if (me == 0) of_rank_0 = &array;
        if (me == 0 || me == 2) static_cast<void>(array(run).get());
        if (me != 2) static_cast<void>(array(3 * run).get());
        world.barrier();
        const std::int64_t begin_ns = world.now();
        if (me == 0) {
            selion::charge(
                selion::nanoseconds(computing_ns / 8));  // the others have left the barrier
            array(run) = 1;
            selion::notify(flag.on(1), selion::signal_set(1));
            const bool is_late = world.now() - begin_ns >= computing_ns;
            std::printf("the release has ended %s rank 2 has looked\n",
                        is_late ? "after" : "before");
        } else if (me == 2) {
            selion::charge(selion::nanoseconds(computing_ns));
        } else if (me == 4) {
            selion::charge(selion::nanoseconds(computing_ns / 4));
            selion::send(selion::rank_id(0), write_and_need_room, 1);
        }
        world.barrier();
        selion::deallocate(world, flag);
        selion::deallocate(world, array);
        return 0;
    });
}
