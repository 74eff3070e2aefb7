// SPDX-License-Identifier: Apache-2.0
// message: selion::put moves bytes: T must be trivially copyable
#include <selion/put_get.hpp>
#include <selion/signal.hpp>

struct cell {
    double value;
#ifdef MUST_FAIL
    selion::signal arrived;  // what a waiting rank has noted in it would be lost
#else
    long arrived;
#endif
};

void use(std::span<const cell> cells) { selion::put(selion::global_ptr<cell>(), cells); }
