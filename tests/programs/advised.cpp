// SPDX-License-Identifier: Apache-2.0
// Coherent memory with one array that wants small blocks and one that wants large ones:
//     advised ROUNDS [forgetful]
// Ranks count in neighbouring elements of `counts`, and all read `table` from one end to the other.
// Who is forgetful gives up all copies after each round, and reads sixteen elements at a time. What
// it prints are the misses of all ranks, where they are counted.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include <selion/selion.hpp>

int main(int argc, char** argv) {
    const int rounds = argc >= 2 ? std::atoi(argv[1]) : 0;
    const bool is_forgetful = argc == 3 && std::string_view(argv[2]) == "forgetful";
    if (rounds <= 0 || argc != (is_forgetful ? 3 : 2)) {
        std::fprintf(stderr, "usage: advised ROUNDS [forgetful]\n");
        return 2;
    }
    return selion::run(argc, argv, [&](selion::world& world) {
        using numbers = selion::cached_array<std::uint64_t, 1>;
        const std::size_t ranks = world.size();
        const selion::cached how{.block_bytes = 64, .protocol = selion::cache_protocol::always};
        const numbers counts(world, {ranks}, selion::runs{ranks}, how, "counts");
        const numbers table(world, {512 * ranks}, selion::runs{512}, how, "table");
        table.for_mine([](auto element, std::size_t i) { element = i; });
        world.barrier();
        std::uint64_t sum = 0;
        for (int round = 0; round < rounds; ++round) {
            counts(world.rank()) = counts(world.rank()) + 1;
            selion::transfers under_way;
            std::array<std::uint64_t, 16> some{};
            for (std::size_t i = 0; i < some.size(); ++i) {
                const std::size_t where = static_cast<std::size_t>(round) * some.size() + i;
                if (is_forgetful) {
                    table.get(under_way, {where % table.extent(0)}, some[i]);
                } else {
                    some[i] = table(where % table.extent(0));
                }
            }
            under_way.sync();
            sum = std::accumulate(some.begin(), some.end(), sum);
            world.barrier();
            if (!is_forgetful) continue;
            counts.space().invalidate();
            table.space().invalidate();
            world.barrier();
        }
        const std::uint64_t own = counts(world.rank());
        const auto misses = [&](const numbers& array) {
            const selion::access_counts all = array.accesses();
            return world.all_reduce(all.read_misses + all.write_misses, selion::plus);
        };
        const bool is_right = world.all_reduce(sum, selion::minimum) == sum &&
                              own == static_cast<std::uint64_t>(rounds);
        const std::uint64_t of_counts = misses(counts);
        const std::uint64_t of_table = misses(table);
        if (world.rank() == 0) {
            std::printf("%llu misses of counts, %llu of table\n",
                        static_cast<unsigned long long>(of_counts),
                        static_cast<unsigned long long>(of_table));
        }
        selion::deallocate(world, counts);  // the table is left to the end of the job
        return is_right ? 0 : 1;
    });
}
