// SPDX-License-Identifier: Apache-2.0
// message: constraints not satisfied|no matching
#include <vector>

#include <selion/world.hpp>

void use(selion::world& world) {
    std::vector<int> kept(3);
#ifdef MUST_FAIL
    world.all_reduce(std::vector<int>(3), selion::plus);
#else
    world.all_reduce(kept, selion::plus);
#endif
}
