// SPDX-License-Identifier: Apache-2.0
// message: selion::put needs a pointer to mutable elements
#include <selion/put_get.hpp>

void use(std::span<const int> numbers) {
#ifdef MUST_FAIL
    selion::put(selion::global_ptr<const int>(), numbers);
#else
    selion::put(selion::global_ptr<int>(), numbers);
#endif
}
