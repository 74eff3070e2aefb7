// SPDX-License-Identifier: Apache-2.0
// message: the operation of a reduction takes two elements .const T&. and returns one
#include <selion/world.hpp>

struct point {
    double x;
    double y;
};

point use(const selion::world& world, point own) {
#ifdef MUST_FAIL
    return world.all_reduce(own, selion::plus);
#else
    const auto sum = [](point a, point b) { return point{a.x + b.x, a.y + b.y}; };
    return world.all_reduce(own, sum);
#endif
}
