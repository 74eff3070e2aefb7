// SPDX-License-Identifier: Apache-2.0
// message: constraints not satisfied|no matching
#include <string>

#include <selion/world.hpp>

void use(selion::world& world) {
#ifdef MUST_FAIL
    static_cast<void>(world.broadcast(std::string(), 0));
#else
    static_cast<void>(world.broadcast(1, 0));
#endif
}
