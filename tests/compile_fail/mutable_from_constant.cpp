// SPDX-License-Identifier: Apache-2.0
// message: no matching (function|conversion|constructor)
#include <selion/global_ptr.hpp>

void use(selion::global_ptr<int> plain, selion::global_ptr<const int> constant) {
#ifdef MUST_FAIL
    plain = selion::global_ptr<int>(constant);
#else
    constant = plain;
#endif
}
