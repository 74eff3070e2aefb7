// SPDX-License-Identifier: Apache-2.0
// message: of a container or a string it gets a std::span<const T>
#include <selion/rpc.hpp>

#include <string>

void use() {
#ifdef MUST_FAIL
    static_cast<void>(selion::rpc(1, [](std::string) {}, std::string("abc")));
#else
    static_cast<void>(selion::rpc(1, [](std::span<const char>) {}, std::string("abc")));
#endif
}
