// SPDX-License-Identifier: Apache-2.0
// The slave of the source's example: it waits for calls of its two routines. See spc_host.cpp.
#include <array>

#include <selion/spc.hpp>

using namespace selion::spc;

namespace {

constexpr std::size_t ARGBUF_SIZE = 65536;

void sum(SPC_ARGS args) {
    // Extract arguments.
    const std::int32_t cnt = *spc_getarg_i32(args);
    const std::int32_t* data = spc_getarg_vi32(args);
    std::int32_t* res = spc_getarg_i32(args);
    // Do the computation.
    std::int32_t sum = 0;
    for (std::int32_t i = 0; i < cnt; ++i) sum += data[i];
    // Store the result.
    *res = sum;
}

void sumsq(SPC_ARGS args) {
    const std::int32_t cnt = *spc_getarg_i32(args);
    const std::int32_t* data = spc_getarg_vi32(args);
    std::int32_t* res = spc_getarg_i32(args);
    std::int32_t sum = 0;
    for (std::int32_t i = 0; i < cnt; ++i) sum += data[i] * data[i];
    *res = sum;
}

}  // namespace

int main() {
    // Initialise the array of calls, and start the event loop.
    const std::array<SPC_CALL, 2> calls{sum, sumsq};
    return SPC_EVENT_LOOP(calls, ARGBUF_SIZE);
}
