// SPDX-License-Identifier: Apache-2.0
// Two ranks on two cores: each operation by Selion and by hand, in one run.
#include <utility>

#include "harness/pair.hpp"
#include "pair/contests.hpp"

namespace {

void append(std::vector<bench::contest>& all, std::vector<bench::contest> more) {
    for (bench::contest& one : more) all.push_back(std::move(one));
}

int run_ranks(selion::world& world, const bench::settings& how, bench::one_process& shared) {
    const bool is_one_process = world.machine().processes == 1;
    std::vector<bench::contest> all = bench::word_contests(world);
    append(all, bench::block_contests(world));
    append(all, bench::signal_contests(world));
    append(all, bench::message_contests(world));
    all.push_back(bench::barrier_contest(world, is_one_process ? &shared : nullptr));
    append(all, bench::collective_contests(world));
    bench::measure(world, all, bench::signal_probe(world), how);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const bench::settings how = bench::parse_settings(argc, argv, {});
    const int processors = bench::usable_processors();
    bench::one_process shared;
    return selion::run(argc, argv, {.machine = "threads:2"}, [&](selion::world& world) {
        if (!bench::is_pair(world, "bench_pair", processors)) return 2;
        return run_ranks(world, how, shared);
    });
}
