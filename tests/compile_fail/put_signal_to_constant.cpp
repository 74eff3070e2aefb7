// SPDX-License-Identifier: Apache-2.0
// message: selion::put_signal needs a pointer to mutable elements
#include <selion/signal.hpp>

void use(std::span<const int> numbers) {
#ifdef MUST_FAIL
    selion::put_signal(selion::global_ptr<const int>(), numbers, {}, selion::signal_add(1));
#else
    selion::put_signal(selion::global_ptr<int>(), numbers, {}, selion::signal_add(1));
#endif
}
