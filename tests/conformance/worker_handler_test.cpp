// SPDX-License-Identifier: Apache-2.0
/// Handlers of messages that call workers, while their rank does so itself.
#include <cstdint>
#include <numeric>
#include <vector>

#include "conformance/memory_parts.hpp"

namespace {

using selion::worker_kind;
using selion::worker_pool;

const selion::routine total_of{"total_of", [](std::span<const std::int32_t> data) {
                                   return std::accumulate(data.begin(), data.end(),
                                                          std::int64_t{0});
                               }};

/// What handlers on the host find there.
struct handlers_desk {
    worker_pool* pool = nullptr;
    std::vector<std::int32_t> data;
    std::vector<selion::routine_call<std::int64_t>> calls;
};
handlers_desk* at_host = nullptr;

void call_worker() { at_host->calls.push_back(at_host->pool->call(total_of, at_host->data)); }

SPMD_TEST(worker_pool, handlers_call_while_their_rank_sends) {
    if (world.machine().capabilities.real_time) {
        return test.skip("there handlers may run on other threads than the host's");
    }
    if (world.size() < 3) return test.skip("needs a host, a worker and another rank");
    constexpr std::size_t count = 20;
    constexpr std::int64_t longer = 3000;  // than what travels with a call
    handlers_desk desk;
    desk.data.assign(longer, 7);
    worker_pool pool(world, {.workers = 1, .kind = worker_kind::rank});
    if (pool.is_host()) {
        desk.pool = &pool;
        at_host = &desk;
    }
    world.barrier();
    if (world.rank() == 2) {
        for (std::size_t i = 0; i < count; ++i) selion::rpc(0, call_worker).get();
    }
    if (!pool.is_host()) return;
    const std::vector<std::int32_t> ones(longer, 1);
    while (desk.calls.size() < count) test.equal(pool.call(total_of, ones).get(), longer);
    for (auto& call : desk.calls) test.equal(call.get(), 7 * longer);
    desk.calls.clear();
    at_host = nullptr;
}

}  // namespace
