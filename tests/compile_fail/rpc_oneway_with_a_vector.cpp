// SPDX-License-Identifier: Apache-2.0
// message: the function does not take these arguments: of a container it gets a std::span<const T>
#include <selion/rpc.hpp>

#include <vector>

void use() {
#ifdef MUST_FAIL
    selion::rpc_oneway(1, [](std::vector<int>) {}, std::vector<int>(3));
#else
    selion::rpc_oneway(1, [](std::span<const int>) {}, std::vector<int>(3));
#endif
}
