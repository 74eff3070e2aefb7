// SPDX-License-Identifier: Apache-2.0
// What bench_startup starts: ranks that have nothing to do.
#include <selion/selion.hpp>

int main(int argc, char** argv) {
    return selion::run(argc, argv, [](selion::world&) {});
}
