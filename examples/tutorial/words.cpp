// SPDX-License-Identifier: Apache-2.0
// words.cpp
#include <cstdint>
#include <cstdio>
#include <map>
#include <vector>

#include <selion/selion.hpp>

using table = std::map<std::uint64_t, int>;

// Run on the rank that has the key. A table is private memory; its owner has told where it is.
int add(selion::global_ptr<table*> where, std::uint64_t key, int amount) {
    return (**where.local())[key] += amount;
}

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world& world) {
        table mine;
        auto tables = selion::allocate<table*>(world, 1);
        *tables.local() = &mine;
        world.barrier();  // nobody calls before all have told

        std::vector<selion::future<int>> answers;
        for (std::uint64_t key = 0; key < 10; ++key) {
            const auto owner = static_cast<std::uint32_t>(key % world.size());
            answers.push_back(selion::rpc(owner, add, tables.on(owner), key, 1));
        }
        for (auto& answer : answers) answer.wait();
        world.barrier();  // all calls of all ranks are done

        int sum = 0;
        for (const auto& [key, count] : mine) sum += count;
        sum = world.all_reduce(sum, selion::plus);
        if (world.rank() == 0) {
            const auto owner = static_cast<std::uint32_t>(7 % world.size());
            const int count = selion::rpc(owner, add, tables.on(owner), std::uint64_t{7}, 0).get();
            std::printf("%d in all, key 7 was counted %d times\n", sum, count);
        }
        world.barrier();
        selion::deallocate(world, tables);
    });
}
