// SPDX-License-Identifier: Apache-2.0
// message: the address of a member function means nothing on another rank
#include <selion/rpc.hpp>

struct point {
    int x;
    int length() const { return x; }
};

void use() {
#ifdef MUST_FAIL
    selion::rpc_oneway(1, &point::length, point{42});
#else
    selion::rpc_oneway(1, [](point p) { return p.length(); }, point{42});
#endif
}
