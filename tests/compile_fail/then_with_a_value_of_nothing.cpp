// SPDX-License-Identifier: Apache-2.0
// message: the function of `then` does not take the future's value
#include <selion/future.hpp>

void use() {
#ifdef MUST_FAIL
    static_cast<void>(selion::make_ready().then([](int value) { return value; }));
#else
    static_cast<void>(selion::make_ready().then([] { return 1; }));
#endif
}
