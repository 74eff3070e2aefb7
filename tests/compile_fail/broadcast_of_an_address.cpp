// SPDX-License-Identifier: Apache-2.0
// message: constraints not satisfied|no matching
#include <string_view>

#include <selion/world.hpp>

void use(selion::world& world) {
#ifdef MUST_FAIL
    static_cast<void>(world.broadcast(std::string_view("abc"), 0));
#else
    char text[] = "abc";
    world.broadcast(text, 0);
#endif
}
