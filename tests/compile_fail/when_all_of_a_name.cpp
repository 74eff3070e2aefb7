// SPDX-License-Identifier: Apache-2.0
// message: write when_all.std::move.name.., or pass a std::span of them
#include <selion/when_all.hpp>

#include <utility>
#include <vector>

void use() {
    std::vector<selion::future<int>> parts;
#ifdef MUST_FAIL
    static_cast<void>(selion::when_all(parts));
#else
    static_cast<void>(selion::when_all(std::move(parts)));
#endif
}
