// SPDX-License-Identifier: Apache-2.0
// message: selion::put needs a pointer to mutable elements
#include <selion/put_get.hpp>

void use() {
#ifdef MUST_FAIL
    selion::put(selion::global_ptr<const int>(), 1);
#else
    selion::put(selion::global_ptr<int>(), 1);
#endif
}
