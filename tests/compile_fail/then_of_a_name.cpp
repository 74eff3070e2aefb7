// SPDX-License-Identifier: Apache-2.0
// message: which is empty after it: write std::move.name..then
#include <selion/future.hpp>

#include <utility>

void use() {
    auto first = selion::make_ready(1);
#ifdef MUST_FAIL
    static_cast<void>(first.then([](int value) { return value; }));
#else
    static_cast<void>(std::move(first).then([](int value) { return value; }));
#endif
}
