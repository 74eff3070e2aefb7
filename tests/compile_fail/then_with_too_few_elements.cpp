// SPDX-License-Identifier: Apache-2.0
// message: of a future<> it gets nothing, of a tuple the tuple or its elements
#include <selion/when_all.hpp>

void use() {
    auto both = selion::when_all(selion::make_ready(1), selion::make_ready(2));
#ifdef MUST_FAIL
    static_cast<void>(std::move(both).then([](int first) { return first; }));
#else
    static_cast<void>(std::move(both).then([](int first, int) { return first; }));
#endif
}
