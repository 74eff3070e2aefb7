// SPDX-License-Identifier: Apache-2.0
// message: which handles of coherent memory are not: each rank has its own
#include <selion/cached_array.hpp>
#include <selion/rpc.hpp>

void use(const selion::cached_array<int, 1>& array) {
#ifdef MUST_FAIL
    static_cast<void>(selion::rpc(1, [](selion::cached_array<int, 1>) {}, array));
#else
    static_cast<void>(selion::rpc(1, [](selion::spread_array<int, 1>) {}, array.memory()));
#endif
}
