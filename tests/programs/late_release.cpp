// SPDX-License-Identifier: Apache-2.0
// A collective with a time-out that has to release a write to coherent memory, which a rank that
// computes keeps from ending. Prints when the home has given up; in virtual time.
#include <chrono>
#include <cstdio>

#include <selion/selion.hpp>

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        const selion::cached how{.protocol = selion::cache_protocol::always,
                                 .consistency = selion::memory_consistency::release};
        const selion::cached_array<int, 1> array(world, {1}, selion::runs{1}, how);
        const selion::team limited = world.split(0).with_timeout(std::chrono::microseconds(100));
        if (world.rank() == 1) array(0) = 1;  // has it alone now
        world.barrier();
        if (world.rank() == 1) selion::charge(selion::nanoseconds(5'000'000));
        if (world.rank() == 0) {
            const std::int64_t begin_ns = world.now();
            array(0) = 2;
            try {
                limited.barrier();
            } catch (const selion::error& trouble) {
                std::printf("%s after %lld us\n",
                            trouble.code() == selion::status::timed_out ? "given up" : "wrong",
                            static_cast<long long>((world.now() - begin_ns) / 1000));
            }
        }
        world.barrier();
        const bool is_right = array(0) == 2;
        world.barrier();
        selion::deallocate(world, array);
        return is_right ? 0 : 1;
    });
}
