// SPDX-License-Identifier: Apache-2.0
// message: atomic_integer
#include <selion/atomics.hpp>

void use() {
#ifdef MUST_FAIL
    static_cast<void>(selion::fetch_or(selion::global_ptr<double>(), 1.0));
#else
    static_cast<void>(selion::fetch_or(selion::global_ptr<int>(), 1));
#endif
}
