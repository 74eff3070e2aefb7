// SPDX-License-Identifier: Apache-2.0
// message: the elements of a temporary are gone before a worker reads them
#include <cstdint>
#include <span>
#include <vector>

#include <selion/worker_pool.hpp>

const selion::routine total{"total",
                            [](std::span<const std::int32_t> data) { return data.size(); }};

std::vector<std::int32_t> made();

void use(selion::worker_pool& pool) {
#ifdef MUST_FAIL
    auto call = pool.call(total, made());
#else
    const std::vector<std::int32_t> data = made();
    auto call = pool.call(total, data);
#endif
    call.wait();
}
