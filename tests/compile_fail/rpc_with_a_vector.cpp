// SPDX-License-Identifier: Apache-2.0
// message: of a container it gets a std::span<const T>, of a string that, a std::string_view or a
#include <selion/rpc.hpp>

#include <vector>

void use() {
#ifdef MUST_FAIL
    static_cast<void>(selion::rpc(1, [](std::vector<int>) {}, std::vector<int>(3)));
#else
    static_cast<void>(selion::rpc(1, [](std::span<const int>) {}, std::vector<int>(3)));
#endif
}
