// SPDX-License-Identifier: Apache-2.0
// message: a text in quotation marks is an array that ends in a zero
#include <selion/rpc.hpp>

#include <string_view>

void use() {
#ifdef MUST_FAIL
    static_cast<void>(selion::rpc(1, [](std::string_view) {}, "abc"));
#else
    static_cast<void>(selion::rpc(1, [](std::string_view) {}, std::string_view("abc")));
#endif
}
