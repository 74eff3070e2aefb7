// SPDX-License-Identifier: Apache-2.0
// message: would show memory of the target, which is gone
#include <selion/rpc.hpp>

#include <array>
#include <span>

void use(std::span<const int> values) {
#ifdef MUST_FAIL
    static_cast<void>(selion::rpc(1, [](std::span<const int> given) { return given; }, values));
#else
    static_cast<void>(selion::rpc(
        1, [](std::span<const int> given) { return std::array{given[0], given[1]}; }, values));
#endif
}
