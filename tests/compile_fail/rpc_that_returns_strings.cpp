// SPDX-License-Identifier: Apache-2.0
// message: the result must be trivially copyable, or a vector of what is, or a string
#include <selion/rpc.hpp>

#include <string>
#include <vector>

void use() {
#ifdef MUST_FAIL
    static_cast<void>(selion::rpc(1, [] { return std::vector<std::string>(2); }));
#else
    static_cast<void>(selion::rpc(1, [] { return std::vector<char>(2); }));
#endif
}
