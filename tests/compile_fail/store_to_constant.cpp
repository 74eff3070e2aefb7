// SPDX-License-Identifier: Apache-2.0
// message: selion::store needs a pointer to mutable elements
#include <selion/split_phase.hpp>

void use() {
#ifdef MUST_FAIL
    selion::store(selion::global_ptr<const int>(), 1);
#else
    selion::store(selion::global_ptr<int>(), 1);
#endif
}
