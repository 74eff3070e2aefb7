// SPDX-License-Identifier: Apache-2.0
/// Whether coherent memory keeps the order that it promises, under whatever orders of messages the
/// machine explores. Exit status 1, and a sentence, when it does not.
///
///   coherent_order locations|litmus|releases SEED
///   coherent_order self-test
///
/// locations: random accesses to a few locations, logged with their times and checked for
/// linearizability of each location. litmus: short programs on two variables, whose forbidden
/// outcomes sequential consistency excludes, on four ranks or more. releases: rounds of writes and
/// reads with release consistency, by invalidation or by updates. Blocks' size, the room for
/// copies and what ranks do come from SEED. self-test: of the check of locations.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <selion/selion.hpp>

#include "coherent_order/litmus.hpp"
#include "coherent_order/locations.hpp"
#include "coherent_order/releases.hpp"
#include "coherent_order/self_test.hpp"

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "self-test") return coherent_order::self_test::run() ? 0 : 1;
    if (argc != 3 || (what != "locations" && what != "litmus" && what != "releases")) {
        std::fprintf(stderr,
                     "usage: coherent_order locations|litmus|releases SEED\n"
                     "       coherent_order self-test\n");
        return 2;
    }
    const std::uint64_t seed = std::strtoull(argv[2], nullptr, 10);
    return selion::run(argc, argv, [&](selion::world& world) {
        using namespace coherent_order;
        const bool is_right = what == "locations" ? locations::run(world, seed)
                              : what == "litmus"  ? litmus::run(world, seed)
                                                  : releases::run(world, seed);
        return is_right ? 0 : 1;
    });
}
